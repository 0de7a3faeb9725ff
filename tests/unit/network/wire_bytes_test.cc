// Do the bytes on the wires add up to what each algorithm must send?
#include "orrery/network/collectives/wire_bytes.h"

#include <gtest/gtest.h>

namespace orrery {
namespace wire_bytes_test {

using Kind = Collective::Kind;
constexpr Bytes kBuffer(1000);

WireBytes of(Kind kind, int ranks, int nodes, const char* algorithm, Seconds port_time = {}) {
  GroupLink link;
  link.bandwidth = BytesPerSecond(100);
  link.nodes = nodes, link.ranks_per_node = ranks / nodes;
  CollectiveTime time;
  time.port_time = port_time;
  return wire_bytes({kind, Collective::Group::kData, ranks, kBuffer}, link,
                    {algorithm, "simple", "", false}, time);
}

// Each of 8 ranks sends 7/8 of the buffer twice for an all-reduce, once for a gather.
TEST(WireBytes, ARingSendsWhatNcclTestsCounts) {
  EXPECT_DOUBLE_EQ(of(Kind::kAllReduce, 8, 1, "ring").inside.value(), 14'000);
  EXPECT_DOUBLE_EQ(of(Kind::kAllGather, 8, 1, "ring").inside.value(), 7'000);
  EXPECT_DOUBLE_EQ(of(Kind::kReduceScatter, 8, 1, "ring").inside.value(), 7'000);
  EXPECT_DOUBLE_EQ(of(Kind::kBroadcast, 8, 1, "ring").inside.value(), 7'000);
  EXPECT_DOUBLE_EQ(of(Kind::kSend, 2, 1, "library").inside.value(), 2'000);
  EXPECT_EQ(of(Kind::kAllReduce, 8, 1, "ring").between, Bytes(0));
  EXPECT_EQ(of(Kind::kAllReduce, 1, 1, "ring").inside, Bytes(0));
}

// Up once and down once for each rank: half of what eight ranks pass on in a long ring.
TEST(WireBytes, ASwitchThatReducesIsPassedOnce) {
  EXPECT_DOUBLE_EQ(of(Kind::kAllReduce, 8, 1, "nvls").inside.value(), 8'000);
  // Each rank's eighth goes up once, and the whole buffer down to each.
  EXPECT_DOUBLE_EQ(of(Kind::kAllGather, 8, 1, "nvls").inside.value(), 4'500);
}

// Each node's switch is passed by the buffer of each rank, and a tree carries it to the other node.
TEST(WireBytes, ATreeOfSwitchesPassesEachOnce) {
  const WireBytes w = of(Kind::kAllReduce, 16, 2, "nvls-tree", seconds(1000.0 / 8 / 100));
  EXPECT_DOUBLE_EQ(w.inside.value(), 16'000);
  EXPECT_DOUBLE_EQ(w.between.value(), 2'000);
}

// A ring over two nodes of 8: 16 hops of 1,875 bytes, 2 of which lead to the other node. The port
// of a rank has its eighth of them at 100 bytes a second.
TEST(WireBytes, TheHopsOfARingAreWithinAndBetweenNodes) {
  const WireBytes w = of(Kind::kAllReduce, 16, 2, "ring", seconds(1875.0 / 8 / 100));
  EXPECT_DOUBLE_EQ(w.inside.value(), 14 * 1875);
  EXPECT_DOUBLE_EQ(w.between.value(), 2 * 1875);
  EXPECT_DOUBLE_EQ((w.inside + w.between).value(), 2 * 15 * kBuffer.value());
}

// Each rank sends a sixteenth of its buffer to every rank: 7 within its node, 8 to the other.
TEST(WireBytes, AnAllToAllSendsEachPartOnce) {
  const WireBytes w = of(Kind::kAllToAll, 16, 2, "library", seconds(500.0 / 100));
  EXPECT_DOUBLE_EQ(w.inside.value(), 16 * 7 * kBuffer.value() / 16);
  EXPECT_DOUBLE_EQ(w.between.value(), 16 * 8 * kBuffer.value() / 16);
}

}  // namespace wire_bytes_test
}  // namespace orrery
