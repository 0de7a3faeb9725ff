#include "orrery/scenario/setup/link_bill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace orrery {
namespace {

struct LinkEnergyKey {
  bool operator==(const LinkEnergyKey&) const = default;
};

double bits_of(Bytes bytes) { return 8 * bytes.value(); }

void add_once(std::vector<std::string>& all, std::string one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

}  // namespace

std::shared_ptr<const LinkEnergies> link_energies(Facts& facts) {
  return facts.latest<LinkEnergies>(LinkEnergyKey{}, [&] { return LinkEnergies(facts.bundle()); });
}

GroupTraffic traffic_of(const Cluster& cluster, const GroupLink& link, const WireBytes& wires) {
  // One hop of neighbours with a bridge of their own takes the node's fabric.
  const Fabric* const node = link.nodes > 1 ? cluster.scale_up() : link.fabric;
  const double on_node = cluster.bridge() != nullptr ? 1.0 / link.bridged : 1;
  return {{node, bits_of(wires.inside) * on_node},
          {cluster.bridge(), bits_of(wires.inside) * (1 - on_node)},
          {cluster.network(), bits_of(wires.between)}};
}

void LinkBill::add(const LinkEnergies& energies, const FabricTraffic& t) {
  if (t.fabric == nullptr || t.bits <= 0) return;
  LinkWay way = energies.way(t.fabric->id);
  if (!way.bit) {
    add_once(unknown, t.fabric->id);
    return;
  }
  const double own = t.bits * way.bit->value.value();
  joules += own, deviation += own * way.bit->sigma(), bits += t.bits;
  for (std::string& part : way.without) add_once(without, std::move(part));
}

Estimate<Joules> LinkBill::estimate(double over) const {
  return {Joules(joules / over), joules > 0 ? deviation / joules : 0, 0, Origin::kTransferred};
}

std::vector<std::string> left_out_of(const LinkBill& bill) {
  std::vector<std::string> says;
  for (const std::string& fabric : bill.unknown)
    says.push_back(fmt::format("no source states that of {}", fabric));
  if (!bill.without.empty())
    says.push_back(
        fmt::format("without {}, of which no source was found", fmt::join(bill.without, ", ")));
  return says;
}

}  // namespace orrery
