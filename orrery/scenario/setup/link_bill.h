// The energy of bits on the links of a cluster (energy/account/link_energy.h).
#pragma once

#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/energy/account/link_energy.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/wire_bytes.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// The table of the catalog, read once.
std::shared_ptr<const LinkEnergies> link_energies(Facts& facts);

// Bits on a fabric; a null fabric carries none.
struct FabricTraffic {
  const Fabric* fabric = nullptr;
  double bits = 0;
};
// The traffic of a group on the fabrics of its nodes and on the network between them. `link` is
// the group's on `cluster`.
struct GroupTraffic {
  FabricTraffic node, bridge, network;
};
GroupTraffic traffic_of(const Cluster& cluster, const GroupLink& link, const WireBytes& wires);

// The energy of several fabrics, whose errors add up: their sources are the same.
struct LinkBill {
  double joules = 0, deviation = 0, bits = 0;
  std::vector<std::string> unknown;  // ids of fabrics of which no source states the energy
  std::vector<std::string> without;  // names of parts that are left out

  void add(const LinkEnergies& energies, const FabricTraffic& traffic);
  // The energy of one of `over` equal parts.
  Estimate<Joules> estimate(double over) const;
};

// The ends of sentences about the energy that the bill leaves out: "no source states that of
// xgmi-mi300x".
std::vector<std::string> left_out_of(const LinkBill& bill);

}  // namespace orrery
