#include "orrery/scenario/kinds/collective/link_energy_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "orrery/scenario/setup/link_bill.h"

namespace orrery {

void add_link_energy(Facts& facts, const Cluster& cluster, const GroupLink& link,
                     const WireBytes& wires, Point& p) {
  const auto energies = link_energies(facts);
  const GroupTraffic traffic = traffic_of(cluster, link, wires);
  LinkBill inside, between, all;
  for (const FabricTraffic* t : {&traffic.node, &traffic.bridge}) inside.add(*energies, *t);
  between.add(*energies, traffic.network);
  for (const FabricTraffic* t : {&traffic.node, &traffic.bridge, &traffic.network})
    all.add(*energies, *t);
  constexpr double kPico = 1e-12;
  if (all.unknown.empty() && all.joules > 0)
    p.metrics.push_back(metric("link_energy@network", all.estimate(1)));
  std::vector<std::string> says;
  const auto put_bit = [&](FigureRef figure, const LinkBill& of, const char* where) {
    if (!of.unknown.empty() || of.bits <= 0) return;
    const Estimate<Joules> bit = of.estimate(of.bits);
    p.metrics.push_back(metric(figure, bit));
    says.push_back(fmt::format("{:.3g} pJ a bit {}", bit.value.value() / kPico, where));
  };
  put_bit("bit_energy_inside", inside, "within a node");
  put_bit("bit_energy_between", between, "between nodes, over one leaf switch");
  for (std::string& text : left_out_of(all)) says.push_back(std::move(text));
  if (!says.empty()) p.notes.push_back(fmt::format("energy of links: {}", fmt::join(says, "; ")));
}

}  // namespace orrery
