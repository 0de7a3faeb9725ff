// Laws of nests on custom chips: counts in closed form against a walk over every element, and what
// no mapping can do.
//
// Classes in which the conventions claim to be exact, and are held to it here:
//   looptree  perfect factors, holders anywhere, any loops in space, tensors that touch every
//             element of their boxes (products, convolutions of stride 1)
//   exact     the same with imperfect factors
//   timeloop  even mappings with perfect factors, of tensors whose ranks have one dimension each
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/count/exact_count.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "tests/unit/accelerator/any_nest.h"
#include "tests/unit/accelerator/reference_nest.h"

namespace orrery {
namespace nest_law_test {

constexpr int kNestsACase = 20;

LooptreeCounts counts_of(const Nest& n) {
  LooptreeCounts counts;
  count_looptree(n.einsum, n.chip, n.mapping, 0, counts);
  return counts;
}

LooptreeCost cost_of(const Nest& n) {
  LooptreeCost cost;
  cost_looptree(n.chip, {n.einsum, false}, n.chip.compute, counts_of(n), cost);
  return cost;
}

void hold_looptree_to_a_walk() {
  const Nest n = any_nest(flip(), false);
  const LooptreeCounts counts = counts_of(n);
  std::size_t at = 0;
  for (int t = 0; t < 3; ++t) {
    for (const WalkedHolder& walked : walk_holders(n.einsum, n.chip, n.mapping, t)) {
      const HolderCounts& h = counts.holders.at(at++);
      RC_ASSERT(h.tensor == t);
      RC_ASSERT(h.level == walked.level);
      RC_ASSERT(h.reads == walked.reads);
      RC_ASSERT(h.writes == walked.writes);
    }
  }
  RC_ASSERT(at == counts.holders.size());
  RC_ASSERT(counts.steps == walk_steps(n.einsum, n.mapping));
}

RC_GTEST_PROP(NestLaw, LooptreeCountsWhatAWalkOverEveryElementCounts, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_looptree_to_a_walk();
}

void hold_exact_to_a_walk() {
  const Nest n = any_nest(flip(), true);
  ExactCounts counts;
  count_exact(n.einsum, n.mapping, counts);
  RC_ASSERT(counts.steps == walk_steps(n.einsum, n.mapping));
  std::size_t at = 0;
  for (int t = 0; t < 3; ++t) {
    const std::vector<double> walked = walk_fetches(n.einsum, n.chip, n.mapping, t);
    for (std::size_t i = 1; i < walked.size(); ++i) {
      RC_ASSERT(counts.holders.at(at).tensor == t);
      RC_ASSERT(counts.holders.at(at++).gains == walked[i]);
    }
  }
  RC_ASSERT(at == counts.holders.size());
}

RC_GTEST_PROP(NestLaw, ExactCountsWhatAWalkOverEveryElementCounts, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_exact_to_a_walk();
}

void hold_timeloop_to_a_walk() {
  const Nest n = any_even_nest();
  NestCounts counts;
  TimeloopCounter(n.einsum, n.chip).count(n.mapping, counts);
  RC_ASSERT(counts.steps == walk_steps(n.einsum, n.mapping));
  for (int t = 0; t < 2; ++t) {
    const std::vector<double> walked = walk_fetches(n.einsum, n.chip, n.mapping, t);
    for (std::size_t l = 1; l < 3; ++l) {
      const LevelCounts& level = counts.levels[l];
      RC_ASSERT(level.tensors[static_cast<std::size_t>(t)].fills * real(level.instances) ==
                walked.at(l));
    }
  }
}

RC_GTEST_PROP(NestLaw, TimeloopFillsWhatAWalkOverEveryElementGains, ()) {
  for (int i = 0; i < kNestsACase; ++i) hold_timeloop_to_a_walk();
}

RC_GTEST_PROP(NestLaw, KeepingATileNeverFetchesMoreThanPlacementAlone, ()) {
  const Nest n = any_nest(flip(), false);
  ExactCounts exact;
  count_exact(n.einsum, n.mapping, exact);
  const LooptreeCounts counts = counts_of(n);
  RC_ASSERT(exact.steps == counts.steps);
  std::size_t at = 0;
  int before = -1;
  for (const HolderCounts& h : counts.holders) {
    const bool outermost = h.tensor != before;
    before = h.tensor;
    if (outermost) continue;
    const ExactHolder& kept = exact.holders.at(at++);
    if (h.tensor != 2) RC_ASSERT(kept.gains <= h.writes);
    // Everything is gained once by somebody.
    RC_ASSERT(kept.gains >= volume(n.einsum, h.tensor));
    RC_ASSERT(kept.first <= kept.gains);
  }
}

RC_GTEST_PROP(NestLaw, TrafficIsNeverBelowTheCompulsory, ()) {
  const Nest n = any_nest(flip(), false);
  for (const HolderCounts& h : counts_of(n).holders) {
    if (h.level != 0) continue;
    RC_ASSERT((h.tensor == 2 ? h.writes : h.reads) >= volume(n.einsum, h.tensor));
  }
}

RC_GTEST_PROP(NestLaw, StepsAreNeverBelowPointsOverUnits, ()) {
  const Nest n = any_nest(flip(), true);
  double units = 1;
  for (const MappingNode& node : n.mapping.nodes) units *= node.space() ? real(node.size) : 1;
  ExactCounts counts;
  count_exact(n.einsum, n.mapping, counts);
  RC_ASSERT(counts.steps >= std::ceil(n.einsum.points() / units));
}

RC_GTEST_PROP(NestLaw, MoreBandwidthIsNeverSlower, ()) {
  Nest n = any_nest(flip(), false);
  const LooptreeCost before = cost_of(n);
  StorageLevel& level = n.chip.levels[static_cast<std::size_t>(pick(0, 2))];
  if (level.shared_bandwidth) *level.shared_bandwidth *= 1 + pick(1, 10) / 4.0;
  const LooptreeCost after = cost_of(n);
  RC_ASSERT(after.seconds <= before.seconds);
  RC_ASSERT(after.energy == before.energy);
}

RC_GTEST_PROP(NestLaw, LoopsOfOneIterationChangeNothing, ()) {
  const Nest n = any_nest(flip(), false);
  Nest more = n;
  for (int i = 0; i < 4; ++i) {
    const int at = pick(3, static_cast<int>(more.mapping.nodes.size()));
    const int dim = pick(0, static_cast<int>(n.einsum.dims.size()) - 1);
    more.mapping.nodes.insert(more.mapping.nodes.begin() + at,
                              flip() ? time_loop(0, dim, 1) : space_loop(pick(1, 2), 0, dim, 1));
  }
  RC_ASSERT(cost_of(more).energy == cost_of(n).energy);
  RC_ASSERT(cost_of(more).seconds == cost_of(n).seconds);
  ExactCounts a, b;
  count_exact(n.einsum, n.mapping, a);
  count_exact(more.einsum, more.mapping, b);
  RC_ASSERT(a.steps == b.steps);
  for (std::size_t i = 0; i < a.holders.size(); ++i) {
    RC_ASSERT(a.holders[i].gains == b.holders.at(i).gains);
  }
}

// The array below Buffer becomes two halves below a carrier of its own, with the same sharing.
RC_GTEST_PROP(NestLaw, AnArrayInTwoHalvesWithAFreeNetworkIsTheSame, ()) {
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
      if (m.index == kM && m.size == 4) nodes.push_back(space_loop(1, 0, kM, 2));
      m.level = 2;
      if (m.index == kM && m.size == 4) m.size = m.last = 2;
    }
    nodes.push_back(m);
  }
  halves.mapping.nodes = nodes;
  const LooptreeCost one = cost_of(n), two = cost_of(halves);
  RC_ASSERT(std::abs(one.energy - two.energy) <= 1e-12 * one.energy);
  RC_ASSERT(std::abs(one.seconds - two.seconds) <= 1e-12 * one.seconds);
}

}  // namespace nest_law_test
}  // namespace orrery
