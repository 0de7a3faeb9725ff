// Context-parallel communication that overlaps with attention: compared with results by hand, and
// the event level with the closed form.
#include "orrery/training/overlap/context_overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace orrery {
namespace context_overlap_test {

ContextPass ring(int ranks, double attention, double communication, bool backward = false) {
  ContextPass p;
  p.ranks = ranks, p.backward = backward;
  p.attention = Seconds(attention), p.communication = Seconds(communication);
  return p;
}

// Four blocks of 2: hops of 1 are hidden, hops of 3 pace all blocks but the last.
TEST(ContextOverlap, HopsHideBesideBlocks) {
  EXPECT_EQ(context_time(ring(4, 8, 3)), Seconds(8));
  EXPECT_EQ(context_time(ring(4, 8, 9)), Seconds(11));
  const ContextRun run = run_context(ring(4, 8, 9));
  EXPECT_EQ(run.total, Seconds(11));
  ASSERT_EQ(run.pieces.size(), 7u);  // four blocks, three hops
  EXPECT_EQ(run.pieces.back().start, Seconds(9));
}

// Transfers of 1 overlap with blocks of 2. The third block overlaps with two, and gradients of keys
// and values return after the last block.
TEST(ContextOverlap, BackwardBringsGradientsHome) {
  EXPECT_EQ(context_time(ring(4, 8, 6, true)), Seconds(9));
  // Hops of 3: 3, 3, 6, 3 and home.
  EXPECT_EQ(context_time(ring(4, 8, 18, true)), Seconds(18));
  // Two ranks: a transfer overlaps with the first block, none with the second, and the gradients
  // return.
  EXPECT_EQ(context_time(ring(2, 8, 2, true)), Seconds(9));
  const ContextRun run = run_context(ring(4, 8, 6, true));
  EXPECT_EQ(std::count_if(run.pieces.begin(), run.pieces.end(),
                          [](const ContextPiece& c) { return c.communication; }),
            6);
}

TEST(ContextOverlap, BlocksAreSlowerBesideHops) {
  ContextPass p = ring(2, 4, 1);
  p.slowdown = 2;
  EXPECT_EQ(context_time(p), Seconds(4.5));
}

// The last of four consecutive parts: half a block, then three.
TEST(ContextOverlap, ConsecutivePartsBeginWithTheDiagonal) {
  ContextPass p = ring(4, 7, 6);
  p.balanced = false;
  EXPECT_EQ(context_time(p), Seconds(8));
  EXPECT_EQ(run_context(p).total, Seconds(8));
}

TEST(ContextOverlap, NothingHidesGathersAndExchanges) {
  for (const ContextMethod method : {ContextMethod::kAllGather, ContextMethod::kUlysses}) {
    for (const bool backward : {false, true}) {
      ContextPass p = ring(4, 8, 3, backward);
      p.method = method;
      EXPECT_EQ(context_time(p), Seconds(11));
      EXPECT_EQ(run_context(p).total, Seconds(11));
    }
  }
}

RC_GTEST_PROP(ContextOverlap, EventLevelIsTheClosedForm, ()) {
  ContextPass p = ring(*rc::gen::inRange(2, 33), *rc::gen::inRange(1, 100),
                       *rc::gen::inRange(0, 200), *rc::gen::arbitrary<bool>());
  p.method =
      *rc::gen::element(ContextMethod::kRing, ContextMethod::kAllGather, ContextMethod::kUlysses);
  p.balanced = *rc::gen::arbitrary<bool>();
  p.slowdown = 1 + *rc::gen::inRange(0, 9) / 8.0;
  const Seconds form = context_time(p);
  const ContextRun run = run_context(p);
  RC_ASSERT(std::abs((form - run.total).value()) < 1e-9);
  // Never less than either, never more than one after the other.
  RC_ASSERT(form >= std::max(p.attention, p.communication) - Seconds(1e-9));
  RC_ASSERT(form <= p.attention + p.communication + Seconds(1e-9));
  // All of the communication, and no stream runs two pieces at once.
  Seconds sent, free[2];
  for (const ContextPiece& c : run.pieces) {
    Seconds& stream = free[c.communication ? 1 : 0];
    RC_ASSERT(c.start >= stream - Seconds(1e-9));
    stream = c.end;
    if (c.communication) sent += c.end - c.start;
  }
  RC_ASSERT(std::abs((sent - p.communication).value()) < 1e-9);
}

TEST(ContextOverlap, LayersAddUp) {
  // Two layers of four blocks of 2 with hops of 3: 3 exposed each.
  EXPECT_DOUBLE_EQ(context_exposed(ring(4, 16, 18), 2, Fidelity::kClosedForm).value(), 6);
  EXPECT_DOUBLE_EQ(context_exposed(ring(4, 16, 18), 2, Fidelity::kEvents).value(), 6);
}

}  // namespace context_overlap_test
}  // namespace orrery
