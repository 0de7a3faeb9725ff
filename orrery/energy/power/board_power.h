// The power of a GPU's board at three points: asleep, awake and at its limit.
//
//   idle   no program runs; clocks are low
//   awake  a program runs, but no kernel: the gaps between the kernels of an engine
//   limit  the power that the board may draw; it lowers its clock so as to stay below
//
// The awake power is fitted on readings of repeated kernels (`orrery fit energy`,
// catalog/power/boards.yaml). The idle power is cited, each with its source
// (catalog/power/idle.yaml). A board without a figure of its own has the same share of its limit as
// the boards that have one (their geometric mean), with the spread of those as its error.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

struct BoardPower {
  Watts limit;
  Estimate<Watts> idle, awake;
  double regulated = 1;  // share of the limit that a board at its limit draws
};

class BoardPowers {
 public:
  // A board's points as shares of its limit; absent: not measured.
  struct Board {
    std::optional<double> idle, awake;
  };

  // Reads both files. InputError: one is malformed.
  explicit BoardPowers(const Bundle& bundle);
  BoardPowers(std::map<std::string, Board> boards, double regulated);

  const std::map<std::string, Board>& boards() const { return boards_; }
  // NoData: the data sheet states no power.
  BoardPower of(const Gpu& gpu) const;

 private:
  std::map<std::string, Board> boards_;  // by the id of the GPU
  double regulated_ = 1;
};

}  // namespace orrery
