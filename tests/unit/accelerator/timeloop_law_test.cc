// Laws of the convention timeloop on even mappings with perfect factors.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "tests/unit/accelerator/any_nest.h"

namespace orrery {
namespace timeloop_law_test {

struct Counted {
  NestCounts counts;
  NestCost cost;
};

Counted counted(const Nest& n) {
  Counted c;
  TimeloopCounter(n.einsum, n.chip).count(n.mapping, c.counts);
  cost_nest(n.chip, c.counts, c.cost);
  return c;
}

RC_GTEST_PROP(TimeloopLaw, TrafficIsNeverBelowTheCompulsory, ()) {
  const Nest n = any_even_nest();
  const Counted c = counted(n);
  for (int t = 0; t < 3; ++t) {
    const TensorCounts& main = c.counts.levels[0].tensors[static_cast<std::size_t>(t)];
    RC_ASSERT((t == 2 ? main.updates : main.reads) >= volume(n.einsum, t));
  }
}

RC_GTEST_PROP(TimeloopLaw, CyclesAreNeverBelowPointsOverUnits, ()) {
  const Nest n = any_even_nest();
  double units = 1;
  for (const MappingNode& node : n.mapping.nodes) units *= node.space() ? real(node.size) : 1;
  RC_ASSERT(counted(n).cost.cycles >= std::ceil(n.einsum.points() / units));
}

RC_GTEST_PROP(TimeloopLaw, MoreBandwidthIsNeverSlower, ()) {
  Nest n = any_even_nest();
  const double before = counted(n).cost.cycles;
  StorageLevel& level = n.chip.levels[static_cast<std::size_t>(pick(0, 2))];
  if (level.shared_bandwidth) *level.shared_bandwidth *= 1 + pick(1, 10) / 4.0;
  RC_ASSERT(counted(n).cost.cycles <= before);
}

// Loops of one iteration stand among those of their level.
RC_GTEST_PROP(TimeloopLaw, LoopsOfOneIterationChangeNothing, ()) {
  const Nest n = any_even_nest();
  Nest more = n;
  std::vector<MappingNode>& nodes = more.mapping.nodes;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!nodes[i].time() || flip()) continue;
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(i),
                 time_loop(nodes[i].level, pick(0, 2), 1));
  }
  const Counted a = counted(n), b = counted(more);
  RC_ASSERT(a.cost.cycles == b.cost.cycles);
  RC_ASSERT(a.cost.energy == b.cost.energy);
}

// The array of four below Buffer becomes two halves, each below a carrier that holds nothing.
RC_GTEST_PROP(TimeloopLaw, AnArrayInTwoHalvesWithAFreeNetworkIsTheSame, ()) {
  Nest n = any_even_nest();
  const int dim = pick(0, 2);
  std::vector<MappingNode>& nodes = n.mapping.nodes;
  std::erase_if(nodes, [](const MappingNode& m) { return m.space() && m.level == 1; });
  for (std::size_t i = 0; i < 3; ++i) n.einsum.sizes[i] = 1;
  for (const MappingNode& m : nodes) {
    if (!m.hold()) n.einsum.sizes[static_cast<std::size_t>(m.index)] *= m.size;
  }
  n.einsum.sizes[static_cast<std::size_t>(dim)] *= 4;
  const auto at =
      std::find_if(nodes.begin(), nodes.end(), [](const MappingNode& m) { return m.level == 2; });
  const std::ptrdiff_t below = at - nodes.begin();

  Nest halves = n;
  nodes.insert(nodes.begin() + below, space_loop(1, 0, dim, 4));
  StorageLevel carrier;
  carrier.kind = StorageLevel::Kind::kFanOut;
  carrier.array = {{"X", 2, {}}};
  n.chip.levels[1].array[0].size = 4;
  halves.chip.levels[1].array[0].size = 2;
  halves.chip.levels.insert(halves.chip.levels.begin() + 2, carrier);
  for (MappingNode& m : halves.mapping.nodes) {
    if (m.level == 2) m.level = 3;
  }
  halves.mapping.nodes.insert(halves.mapping.nodes.begin() + below,
                              {space_loop(1, 0, dim, 2), space_loop(2, 0, dim, 2)});
  const Counted one = counted(n), two = counted(halves);
  RC_ASSERT(one.cost.cycles == two.cost.cycles);
  RC_ASSERT(std::abs(one.cost.energy - two.cost.energy) <= 1e-12 * one.cost.energy);
}

}  // namespace timeloop_law_test
}  // namespace orrery
