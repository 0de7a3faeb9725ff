// The energy of the links of a group in one call of a collective (energy/account/link_energy.h).
//
// Metrics: link_energy (mJ, of all GPUs of the group together), and of a bit on its way to another
// GPU bit_energy_inside (within a node) and bit_energy_between (to another node), in pJ. A note
// states the latter and the parts that are left out. Where no source states the energy of a fabric,
// the answer has no link_energy and the note says so. Between two nodes one leaf switch is counted.
#pragma once

#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/wire_bytes.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// `link`: of the group on `cluster`.
void add_link_energy(Facts& facts, const Cluster& cluster, const GroupLink& link,
                     const WireBytes& wires, Point& point);

}  // namespace orrery
