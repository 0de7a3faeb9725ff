// The bytes that one call of a collective puts on the wires, summed over all ranks of its group.
//
//   algorithm        leaves a GPU for others of its node
//   reduces in the   all-reduce: each rank sends its buffer to the switch and receives it once.
//   node's switch    Others: one copy up for each part and one copy down for each rank, or the
//                    reverse. Counted are bytes that pass the switch: half of those up and down.
//   of one node      what its curve's `volume` says of a rank (curve_algorithm.h)
//   any other        hops of a ring: each carries bus_factor times the buffer, and one hop of each
//                    node leads to another node. A tree has a hop less.
//
// Between nodes they follow from CollectiveTime::port_time. In a send every rank sends its bytes to
// a neighbour, as nccl-tests does.
#pragma once

#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct WireBytes {
  Bytes inside;   // that leave a GPU for others of its node
  Bytes between;  // that leave a node
};

// `link`: of the group. `choice` and `time`: NetworkModel::choice and predict of the collective.
WireBytes wire_bytes(const Collective& collective, const GroupLink& link,
                     const CollectiveChoice& choice, const CollectiveTime& time);

}  // namespace orrery
