#include "orrery/scenario/collective/link_energy_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "orrery/energy/account/link_energy.h"

namespace orrery {
namespace {

struct LinkEnergyKey {
  bool operator==(const LinkEnergyKey&) const = default;
};

// Bits on a fabric.
struct Traffic {
  const Fabric* fabric = nullptr;
  double bits = 0;
};

// The energy of several fabrics, whose errors add up: their sources are the same.
struct EnergySum {
  double joules = 0, deviation = 0, bits = 0;
  std::vector<std::string> unknown, without;

  void add(const LinkEnergies& energies, const Traffic& t) {
    if (t.fabric == nullptr || t.bits <= 0) return;
    LinkWay way = energies.way(t.fabric->id);
    if (!way.bit) {
      unknown.push_back(t.fabric->id);
      return;
    }
    const double own = t.bits * way.bit->value.value();
    joules += own, deviation += own * way.bit->sigma(), bits += t.bits;
    for (std::string& part : way.without)
      if (std::find(without.begin(), without.end(), part) == without.end())
        without.push_back(std::move(part));
  }
  Estimate<Joules> estimate(double over) const {
    return {Joules(joules / over), joules > 0 ? deviation / joules : 0, 0, Origin::kTransferred};
  }
};

double bits(Bytes bytes) { return 8 * bytes.value(); }

}  // namespace

void add_link_energy(Facts& facts, const Cluster& cluster, const GroupLink& link,
                     const WireBytes& wires, Point& p) {
  const auto energies =
      facts.latest<LinkEnergies>(LinkEnergyKey{}, [&] { return LinkEnergies(facts.bundle()); });
  // One hop of neighbours with a bridge of their own takes the node's fabric.
  const Fabric* const node = link.nodes > 1 ? cluster.scale_up() : link.fabric;
  const double on_node = cluster.bridge() != nullptr ? 1.0 / link.bridged : 1;
  EnergySum inside, between, all;
  const Traffic traffic[] = {{node, bits(wires.inside) * on_node},
                             {cluster.bridge(), bits(wires.inside) * (1 - on_node)},
                             {cluster.network(), bits(wires.between)}};
  for (const Traffic& t : traffic) {
    all.add(*energies, t);
    (&t == &traffic[2] ? between : inside).add(*energies, t);
  }
  constexpr double kMilli = 1e-3, kPico = 1e-12;
  if (all.unknown.empty() && all.joules > 0)
    p.metrics.push_back(metric("link_energy", "mJ", all.estimate(1), kMilli));
  std::vector<std::string> says;
  const auto put_bit = [&](const char* name, const EnergySum& of, const char* where) {
    if (!of.unknown.empty() || of.bits <= 0) return;
    const Estimate<Joules> bit = of.estimate(of.bits);
    p.metrics.push_back(metric(name, "pJ", bit, kPico));
    says.push_back(fmt::format("{:.3g} pJ a bit {}", bit.value.value() / kPico, where));
  };
  put_bit("bit_energy_inside", inside, "within a node");
  put_bit("bit_energy_between", between, "between nodes, over one leaf switch");
  for (const std::string& fabric : all.unknown)
    says.push_back(fmt::format("no source states that of {}", fabric));
  if (!all.without.empty())
    says.push_back(
        fmt::format("without {}, of which no source was found", fmt::join(all.without, ", ")));
  if (!says.empty()) p.notes.push_back(fmt::format("energy of links: {}", fmt::join(says, "; ")));
}

}  // namespace orrery
