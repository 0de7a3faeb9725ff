// Pieces of a product that overlap with pieces of a collective: compared with results by hand, and
// the event level with the closed form.
#include "orrery/training/overlap/stream_overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace stream_overlap_test {

// Pieces of 1 sent from 0, 1, 2, 3; pieces of 2 computed from 1 on: the end is at 9.
TEST(StreamOverlap, OnlyTheFirstPieceIsExposed) {
  const PipedPair pair{Seconds(8), Seconds(4), 4, 1};
  const PipedRun run = run_piped(pair);
  EXPECT_EQ(run.total, Seconds(9));
  ASSERT_EQ(run.pieces.size(), 8u);
  EXPECT_EQ(run.pieces[4].start, Seconds(1));
  EXPECT_EQ(run.pieces[7].end, Seconds(9));
  // Half as fast for the 3 s in which something is sent: 1.5 s more.
  EXPECT_EQ(run_piped({Seconds(8), Seconds(4), 4, 2}).total, Seconds(10.5));
}

TEST(StreamOverlap, LongCommunicationLeavesTheLastPiece) {
  EXPECT_EQ(run_piped({Seconds(4), Seconds(8), 4, 1}).total, Seconds(9));
  EXPECT_EQ(piped_time({Seconds(4), Seconds(8), 4, 1}), Seconds(9));
}

TEST(StreamOverlap, OnePieceHidesNothing) {
  EXPECT_EQ(piped_time({Seconds(3), Seconds(2), 1, 1.5}), Seconds(5));
}

RC_GTEST_PROP(StreamOverlap, EventLevelIsTheClosedForm, ()) {
  const PipedPair pair{Seconds(*rc::gen::inRange(0, 100)), Seconds(*rc::gen::inRange(0, 100)),
                       *rc::gen::inRange(1, 33), 1 + *rc::gen::inRange(0, 9) / 8.0};
  const Seconds form = piped_time(pair), events = run_piped(pair).total;
  RC_ASSERT(std::abs(form / Seconds(1) - events / Seconds(1)) < 1e-9);
  // Never less than either, never more than one after the other.
  RC_ASSERT(form >= std::max(pair.compute, pair.communication) - Seconds(1e-9));
  RC_ASSERT(form <= pair.compute + pair.communication + Seconds(1e-9));
}

TEST(StreamOverlap, WhatAPassWaitsForIsTheSumOfItsCollectives) {
  // Four collectives of 1 with products of 2, in 4 pieces each, expose 4 * 0.25.
  PipedLayers layers{Seconds(8), Seconds(4), 4, 4, 1};
  EXPECT_DOUBLE_EQ(piped_exposed(layers, Fidelity::kClosedForm).value(), 1);
  EXPECT_DOUBLE_EQ(piped_exposed(layers, Fidelity::kEvents).value(), 1);
  layers.collectives = 0;
  EXPECT_EQ(piped_exposed(layers, Fidelity::kClosedForm), Seconds(4));
}

}  // namespace stream_overlap_test
}  // namespace orrery
