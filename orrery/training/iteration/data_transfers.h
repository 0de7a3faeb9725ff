// The collectives that data-parallel ranks run on their data stream, one after the other, as the
// network room times them.
#pragma once

#include <vector>

#include "orrery/network/collectives/network_model.h"
#include "orrery/training/iteration/error_sum.h"
#include "orrery/training/iteration/iteration_parts.h"

namespace orrery {

class DataTransfers {
 public:
  // Borrows the network and `errors`, which gets the errors of all collectives. `repeats`: how
  // often an iteration runs the list.
  DataTransfers(const NetworkModel& network, const RankPlacement& place, double repeats,
                ErrorSum& errors)
      : network_(network), place_(place), repeats_(repeats), errors_(errors) {}

  // Appends `count` equal collectives with `each` bytes and returns their time: 0, and no
  // collective, for one rank or no bytes.
  Seconds add(const Collective& each, double count);

  // The time that the collectives since the last call take on the rank's share of its node's ports.
  Seconds take_port_time();
  // The collectives since the last call.
  std::vector<DataTransfer> take();

 private:
  const NetworkModel& network_;
  const RankPlacement place_;
  const double repeats_;
  ErrorSum& errors_;
  Seconds on_port_;
  std::vector<DataTransfer> transfers_;
};

}  // namespace orrery
