// Laws of the convention exact: its accesses against those of the conventions that agree with it,
// and what no cycles and no traffic can do.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/accelerator/cost/exact_cost.h"
#include "orrery/accelerator/count/exact_count.h"
#include "orrery/accelerator/count/looptree_count.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "tests/unit/accelerator/any_nest.h"

namespace orrery {
namespace exact_law_test {

constexpr int kNestsACase = 20;

ExactTraffic traffic_of(const Nest& n) {
  ExactTraffic t;
  count_exact_traffic(n.einsum, n.chip, n.mapping, 0, t);
  return t;
}

ExactCost cost_of(const Nest& n, bool double_buffered) {
  ExactCost cost;
  cost_exact(n.chip, {n.einsum, false}, n.chip.compute, traffic_of(n), {double_buffered, false},
             cost);
  return cost;
}

void hold_fills_to_gains() {
  const Nest n = any_nest(flip(), true);
  const ExactTraffic traffic = traffic_of(n);
  ExactCounts counts;
  count_exact(n.einsum, n.mapping, counts);
  RC_ASSERT(traffic.steps == counts.steps);
  std::size_t at = 0;
  int before = -1;
  for (const ExactTensorTraffic& h : traffic.holders) {
    const bool outermost = h.tensor != before;
    before = h.tensor;
    if (outermost) continue;
    const ExactHolder& holder = counts.holders.at(at++);
    RC_ASSERT(h.level == holder.level);
    if (h.tensor == 2) {
      RC_ASSERT(h.all.fills <= holder.gains);
      RC_ASSERT(h.all.fills >= 0);
    } else {
      RC_ASSERT(h.all.fills == holder.gains);
    }
  }
  RC_ASSERT(at == counts.holders.size());
}

RC_GTEST_PROP(ExactLaw, HoldersAreFilledWithWhatTheyGain, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_fills_to_gains();
}

// In products with perfect factors and even mappings, where every array shares every tensor,
// Timeloop counts the same.
void hold_to_timeloop() {
  Nest n = any_even_nest();
  for (StorageLevel& level : n.chip.levels) {
    for (ArrayAxis& axis : level.array) axis.shared.reset();
  }
  NestCounts counts;
  TimeloopCounter(n.einsum, n.chip).count(n.mapping, counts);
  for (const ExactTensorTraffic& h : traffic_of(n).holders) {
    const LevelCounts& level = counts.levels[static_cast<std::size_t>(h.level)];
    const TensorCounts& t = level.tensors[static_cast<std::size_t>(h.tensor)];
    const double instances = real(level.instances);
    RC_ASSERT(h.all.fills <= t.fills * instances);
    if (h.tensor != 2) RC_ASSERT(h.all.fills == t.fills * instances);
    // In Timeloop neighbours pass words on, and what an output sends back is no read.
    if (t.link_transfers == 0) {
      RC_ASSERT(h.all.updates == t.updates * instances);
      if (h.tensor != 2) RC_ASSERT(h.all.reads == t.reads * instances);
    }
    RC_ASSERT(h.tile == t.tile);
  }
}

RC_GTEST_PROP(ExactLaw, EvenMappingsOfProductsHaveTheAccessesOfTimeloop, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_to_timeloop();
}

void hold_to_looptree() {
  const Nest n = any_nest(flip(), false);
  LooptreeCounts counts;
  count_looptree(n.einsum, n.chip, n.mapping, 0, counts);
  const ExactTraffic traffic = traffic_of(n);
  RC_ASSERT(traffic.holders.size() == counts.holders.size());
  for (std::size_t i = 0; i < counts.holders.size(); ++i) {
    const HolderCounts& theirs = counts.holders[i];
    const ExactTensorTraffic& ours = traffic.holders[i];
    RC_ASSERT(ours.all.reads <= theirs.reads);
    RC_ASSERT(ours.all.writes() <= theirs.writes);
    RC_ASSERT(ours.busiest.reads <= theirs.unit_reads);
    RC_ASSERT(ours.busiest.writes() <= theirs.unit_writes);
    RC_ASSERT(ours.computing.reads <= ours.busiest.reads);
    RC_ASSERT(ours.tile >= theirs.tile);
  }
}

RC_GTEST_PROP(ExactLaw, AccessesAreNeverAboveThoseOfPlacementAlone, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_to_looptree();
}

RC_GTEST_PROP(ExactLaw, TrafficIsNeverBelowTheCompulsory, ()) {
  const Nest n = any_nest(flip(), true);
  for (const ExactTensorTraffic& h : traffic_of(n).holders) {
    if (h.level != 0) continue;
    RC_ASSERT((h.tensor == 2 ? h.all.updates : h.all.reads) >= volume(n.einsum, h.tensor));
  }
}

RC_GTEST_PROP(ExactLaw, CyclesAreNeverBelowPointsOverUnits, ()) {
  const Nest n = any_nest(flip(), true);
  double units = 1;
  for (const MappingNode& node : n.mapping.nodes) units *= node.space() ? real(node.size) : 1;
  RC_ASSERT(cost_of(n, flip()).cycles >= std::ceil(n.einsum.points() / units));
}

RC_GTEST_PROP(ExactLaw, NoMemoryIsBusyLongerThanItTakes, ()) {
  const Nest n = any_nest(flip(), true);
  const ExactCost cost = cost_of(n, flip());
  for (const ExactMemoryCost& m : cost.memories) RC_ASSERT(m.port_cycles <= cost.cycles + 1e-6);
}

RC_GTEST_PROP(ExactLaw, DoubleBufferingIsNeverSlower, ()) {
  const Nest n = any_nest(flip(), true);
  const ExactCost twice = cost_of(n, true), once = cost_of(n, false);
  RC_ASSERT(twice.cycles <= once.cycles);
  RC_ASSERT(twice.compute_energy == once.compute_energy);
}

RC_GTEST_PROP(ExactLaw, MoreBandwidthIsNeverSlower, ()) {
  Nest n = any_nest(flip(), true);
  const bool double_buffered = flip();
  const ExactCost before = cost_of(n, double_buffered);
  StorageLevel& level = n.chip.levels[static_cast<std::size_t>(pick(0, 2))];
  if (level.shared_bandwidth) *level.shared_bandwidth *= 1 + pick(1, 10) / 4.0;
  RC_ASSERT(cost_of(n, double_buffered).cycles <= before.cycles);
}

RC_GTEST_PROP(ExactLaw, LoopsOfOneIterationChangeNothing, ()) {
  const Nest n = any_nest(flip(), true);
  Nest more = n;
  for (int i = 0; i < 4; ++i) {
    const int at = pick(3, static_cast<int>(more.mapping.nodes.size()));
    const int dim = pick(0, static_cast<int>(n.einsum.dims.size()) - 1);
    more.mapping.nodes.insert(more.mapping.nodes.begin() + at,
                              flip() ? time_loop(0, dim, 1) : space_loop(pick(1, 2), 0, dim, 1));
  }
  const bool double_buffered = flip();
  RC_ASSERT(cost_of(more, double_buffered).cycles == cost_of(n, double_buffered).cycles);
  RC_ASSERT(cost_of(more, double_buffered).energy == cost_of(n, double_buffered).energy);
}

// The array below Buffer becomes two halves below a carrier of its own, with the same sharing.
RC_GTEST_PROP(ExactLaw, AnArrayInTwoHalvesWithAFreeNetworkIsTheSame, ()) {
  Nest n = any_nest(flip(), false);
  n.einsum.sizes[kM] *= 4;
  n.mapping.nodes.push_back(space_loop(1, 0, kM, 4));
  Nest halves = n;
  StorageLevel carrier;
  carrier.kind = StorageLevel::Kind::kFanOut;
  carrier.array = n.chip.levels[1].array;
  carrier.array[0].size = 32;
  halves.chip.levels[1].array[0].size = 2;
  halves.chip.levels.insert(halves.chip.levels.begin() + 2, carrier);
  std::vector<MappingNode> nodes;
  for (MappingNode m : n.mapping.nodes) {
    if (m.level == 2) m.level = 3;
    if (m.space() && m.level == 1) {
      const bool split = m.index == kM && m.size == 4;
      if (split) nodes.push_back(space_loop(1, 0, kM, 2));
      m.level = 2;
      if (split) m.size = m.last = 2;
    }
    nodes.push_back(m);
  }
  halves.mapping.nodes = nodes;
  const bool double_buffered = flip();
  const ExactCost one = cost_of(n, double_buffered), two = cost_of(halves, double_buffered);
  RC_ASSERT(one.cycles == two.cycles);
  RC_ASSERT(std::abs(one.energy - two.energy) <= 1e-12 * one.energy);
}

}  // namespace exact_law_test
}  // namespace orrery
