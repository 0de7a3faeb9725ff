// Laws of the convention timeloop on even mappings with perfect factors.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "tests/unit/accelerator/any_nest.h"

namespace orrery {
namespace {

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

}  // namespace
}  // namespace orrery
