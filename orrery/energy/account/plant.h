// From the boards of GPUs to the plant: the power at the wall of their servers and at the meter of
// the data centre.
//
//   wall     = (boards + rest(x)) / supply_efficiency
//   rest(x)  = idle + (loaded - idle) x       CPUs, memory, network cards, switches, fans
//   facility = wall * PUE
//
// x is the power of the boards between waiting (0) and their limit (1). A node type states its rest
// (NodeType::power), or it is that of a server with boards of the same power in all: a power law of
// the boards' limits, fitted to the servers of catalog/plant/plant.yaml, whose walls were measured.
// The node's own rest is certain within kRestError, which is how far servers of one vendor with the
// same boards lie apart (air and liquid).
//
// GPUs that share a server share its rest, each its part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/hardware/catalog.h"

namespace orrery {

// The boards of a deployment. Those that wait hold a model and run nothing.
struct Boards {
  Estimate<Watts> running;   // mean power of one that runs
  double run = 0, wait = 0;  // numbers
};

// A server whose power at the wall was measured. Zero: not measured.
struct MeasuredServer {
  std::string name, source;
  int gpus = 1;
  Watts limit;         // of a board
  Watts idle, loaded;  // at the wall
};

class Plant {
 public:
  // Reads catalog/plant/plant.yaml and catalog/power/boards.yaml. `without`: the name of a server
  // that the laws leave out, to be judged; empty: none. InputError: one is malformed.
  explicit Plant(const Bundle& bundle, std::string_view without = "");

  // Power of a board that waits: the reading of its GPU, else the mean share of the limit.
  // NoData: the data sheet states no power.
  Estimate<Watts> waiting(const Gpu& gpu) const;
  // Power of all boards. NoData: as waiting(), if some wait.
  Estimate<Watts> of_boards(const Gpu& gpu, const Boards& boards) const;
  // Power at the wall of the boards and of their part of their servers. NoData: the data sheet
  // states no power.
  Estimate<Watts> at_wall(const Gpu& gpu, const NodeType& node, const Boards& boards) const;
  // Power of the data centre. `pue`: absent for the average one.
  Estimate<Watts> at_facility(const Estimate<Watts>& wall, std::optional<double> pue) const;

  const Estimate<double>& pue() const { return pue_; }
  double supply_efficiency() const { return supply_efficiency_; }
  const std::vector<MeasuredServer>& servers() const { return servers_; }
  // The part of a measured server's power that its boards do not draw, behind the supplies.
  Watts rest_idle(const MeasuredServer& server) const;
  Watts rest_loaded(const MeasuredServer& server) const;

 private:
  // rest = scale * (limits of all boards in W)^power, with the deviation of its logarithm.
  struct RestLaw {
    double scale = 0, power = 0, error = 0;
    Watts at(Watts limits) const;
  };
  RestLaw fitted(Watts (Plant::*rest)(const MeasuredServer&) const) const;

  double regulated_ = 1;  // share of the limit that a board at its limit draws (board_power.h)
  Estimate<double> pue_;
  double supply_efficiency_ = 1;
  struct WaitingBoard {
    std::string gpu, source;
    Watts limit, power;
  };
  std::vector<WaitingBoard> waiting_;
  Estimate<double> waiting_share_;  // of the limit, of a GPU without a reading
  std::vector<MeasuredServer> servers_;
  RestLaw idle_, loaded_;
};

}  // namespace orrery
