// The power of a GPU's board at two points: awake and at its limit.
//
//   awake  a program runs, but no kernel: the gaps between the kernels of an engine
//   limit  the power that the board may draw; it lowers its clock so as to stay below
//
// The awake power is fitted on readings of repeated kernels (`orrery fit energy`,
// catalog/power/boards.yaml). A board without readings has the same share of its limit as those
// that have some (their geometric mean), with the spread of those as its error.
#pragma once

#include <map>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

struct BoardPower {
  Watts limit;
  Estimate<Watts> awake;
  double regulated = 1;  // share of the limit that a board at its limit draws
};

class BoardPowers {
 public:
  // Reads catalog/power/boards.yaml. InputError: it is malformed.
  explicit BoardPowers(const Bundle& bundle);
  // `awake`: shares of the limit, by the id of the GPU; at least one.
  BoardPowers(std::map<std::string, double> awake, double regulated);

  const std::map<std::string, double>& awake() const { return awake_; }
  double regulated() const { return regulated_; }
  // NoData: the data sheet states no power.
  BoardPower of(const Gpu& gpu) const;

 private:
  std::map<std::string, double> awake_;
  double regulated_ = 1;
};

}  // namespace orrery
