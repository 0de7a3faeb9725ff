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
