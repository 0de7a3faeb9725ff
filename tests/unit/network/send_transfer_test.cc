#include "orrery/network/fit/send_transfer.h"

#include <gtest/gtest.h>

#include "orrery/network/fit/inside_fit.h"

namespace orrery {
namespace send_transfer_test {

FittedCurve curve(CollectiveAlgorithm algorithm, Collective::Kind kind, double latency, double step,
                  double share) {
  FittedCurve f;
  f.algorithm = algorithm;
  f.kind = kind;
  f.curve = {microseconds(latency), microseconds(step), 0.1, {share, 0.9, 0.9}};
  f.rows = 89;
  return f;
}

FittedCurve ring(double latency, double step, double share) {
  return curve(CollectiveAlgorithm::kRing, Collective::Kind::kAllReduce, latency, step, share);
}

// Two steps of a ring of two GPUs: 4 + 2 * 1 = 6 us there, 10 + 2 * 1 = 12 us here.
TEST(SendTransfer, StartsAndCopiesAsTheRingOfTheFabricDoes) {
  const FittedCurve send = curve(CollectiveAlgorithm::kDirect, Collective::Kind::kSend, 6, 1, 0.8);
  const FittedCurve here = transferred_send(send, ring(4, 1, 0.6), ring(10, 1, 0.45));
  EXPECT_DOUBLE_EQ(here.curve.latency / microseconds(1), 12);
  EXPECT_DOUBLE_EQ(here.curve.step / microseconds(1), 2);
  EXPECT_DOUBLE_EQ(here.curve.efficiency[0], 0.6);
  EXPECT_DOUBLE_EQ(here.curve.pipelining, 0.1);
  EXPECT_EQ(here.rows, 0);
}

TEST(SendTransfer, IsTheSameOnTheSameFabricAndNeverFasterThanTheWires) {
  const FittedCurve send = curve(CollectiveAlgorithm::kDirect, Collective::Kind::kSend, 6, 1, 0.8);
  const FittedCurve same = transferred_send(send, ring(4, 1, 0.6), ring(4, 1, 0.6));
  EXPECT_EQ(same.curve.latency, send.curve.latency);
  EXPECT_DOUBLE_EQ(same.curve.efficiency[0], 0.8);
  const FittedCurve wide = transferred_send(send, ring(4, 1, 0.6), ring(4, 1, 0.9));
  EXPECT_LE(wide.curve.efficiency[0], kMostEfficiency);
}

// Sends of 1 KiB to 64 MiB that start after `start` us and have `share` of a wire.
std::vector<MeasuredCollective> sends(double start, double share, BytesPerSecond wire) {
  std::vector<MeasuredCollective> rows;
  for (double bytes = 1024; bytes <= 64 << 20; bytes *= 2) {
    MeasuredCollective row;
    row.kind = Collective::Kind::kSend;
    row.bytes = Bytes(bytes);
    row.bandwidth = wire;
    row.time = microseconds(start) + row.bytes / (wire * share);
    rows.push_back(row);
  }
  return rows;
}

TEST(SendStart, IsFoundWhateverTheWire) {
  const auto narrow = sends(9, 0.7, BytesPerSecond(50e9));
  const auto wide = sends(9, 0.7, BytesPerSecond(450e9));
  EXPECT_NEAR(start_of_sends({narrow}) / microseconds(1), 9, 0.01);
  EXPECT_NEAR(start_of_sends({narrow, wide}) / microseconds(1), 9, 0.01);
  EXPECT_EQ(start_of_sends({}), Seconds(0));
}

// A group counts once, however many rows it has: doubling the rows of one moves nothing.
TEST(SendStart, LiesBetweenTheGroupsAndCountsEachOnce) {
  const auto early = sends(6, 0.8, BytesPerSecond(300e9));
  const auto late = sends(7, 0.8, BytesPerSecond(300e9));
  auto twice = late;
  twice.insert(twice.end(), late.begin(), late.end());
  const double start = start_of_sends({early, late}) / microseconds(1);
  EXPECT_GT(start, 6.2);
  EXPECT_LT(start, 6.8);
  EXPECT_NEAR(start_of_sends({early, twice}) / microseconds(1), start, 0.01);
}

TEST(SendTransfer, TakesTheLibrarysRingThatReduces) {
  FittedCurve other = ring(4, 1, 0.6);
  other.stack = "vllm";
  const FittedCurve gather =
      curve(CollectiveAlgorithm::kRing, Collective::Kind::kAllGather, 4, 1, 0.5);
  const std::vector<FittedCurve> curves = {other, gather, ring(5, 1, 0.7)};
  EXPECT_EQ(reducing_ring(curves), &curves[2]);
  EXPECT_EQ(reducing_ring({other, gather}), nullptr);
}

}  // namespace send_transfer_test
}  // namespace orrery
