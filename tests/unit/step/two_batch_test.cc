// Two-batch overlap with kernels and transfers of fixed times.
#include "orrery/step/two_batch.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "tests/fakes/network.h"

namespace orrery {
namespace two_batch_test {

// Every kernel takes 10 us and is bound by `bound`.
class TenMicroseconds : public KernelModel {
 public:
  KernelTime predict(const Op&) const override {
    return {
        {microseconds(10), 0.1, 0.0, Origin::kMeasured}, microseconds(1), microseconds(2), bound};
  }
  std::string provenance(const Op&) const override { return "fake"; }
  Bound bound = Bound::kMemory;
};

// Every dispatch and combine takes `move`, and holds a share of the multiprocessors.
class Moves : public FakeNetwork {
 public:
  using FakeNetwork::exchange;
  CollectiveTime exchange(const ExpertExchange&, Collective::Group, int) const override {
    CollectiveTime t{};
    t.time = {move, 0.2, 0, Origin::kMeasured};
    t.held = held;
    return t;
  }
  Seconds move = microseconds(50);
  double held = 0;
};

class TwoBatches : public testing::Test {
 protected:
  StepTime time(bool overlap, std::int64_t sequences = 64 * 64) {
    plan.experts.two_batch = overlap;
    return StepModel(model, plan, precision, engine, kernels, network)
        .time({{{sequences, 1, 1000, true}}}, true);
  }
  static double us(Seconds t) { return t / microseconds(1); }
  // Kernels of the 58 layers with experts, once.
  double layers() {
    double sum = 0;
    for (const StepTerm& t : time(false).terms)
      if (t.op.spec == 1 && !t.op.move) sum += us(t.time.value);
    return sum;
  }

  Architecture model = load_model("deepseek-v3");
  ParallelPlan plan{.dp = 64, .ep = 64};
  Precision precision = native_precision(model);
  EngineProfile engine;
  TenMicroseconds kernels;
  Moves network;
};

// Kernels of 10 us, whatever the batch: both halves take twice as long as the batch. In decode 5
// kernels come before the core of attention (two norms, two projections, the absorbed query; the
// norm of the latents is fused), 4 are the core and what follows it (attention, the absorbed
// values, the output projection, the router), and 3 are shared experts.
TEST_F(TwoBatches, HideMovesBehindTheWindowsOfDecode) {
  ASSERT_NEAR(layers(), 58 * (5 + 4 + 3 + 1) * 10, 1e-6);
  const double others = us(time(false).kernels) - layers();
  network.move = microseconds(1);
  EXPECT_NEAR(us(time(true).total.value), others + 2 * layers(), 1e-6);
  EXPECT_NEAR(us(time(true).communication), 0, 1e-6);
  // Dispatches of 50 us behind 80 and 30 us, combines behind 40 and 50.
  network.move = microseconds(50);
  EXPECT_NEAR(us(time(true).total.value), others + 2 * layers() + 58 * (20 + 10), 1e-6);
  // Four moves, a core of attention that nothing needs, and experts.
  network.move = milliseconds(1);
  EXPECT_NEAR(us(time(true).total.value), others + 58 * (4 * 1000 + 40 + 2 * 10), 1e-6);
  EXPECT_NEAR(us(time(false).total.value), us(time(false).kernels) + 58 * 2 * 1000, 1e-6);
}

// With prompts: 80 us of attention and router, 10 of routed and 30 of shared experts. Dispatches of
// 60 us behind 110 and 10 us, combines behind 40 and 140.
TEST_F(TwoBatches, HideMovesBehindTheWindowsOfPrefill) {
  const auto prefill = [&](Seconds move) {
    plan.experts.two_batch = true;
    network.move = move;
    return StepModel(model, plan, precision, engine, kernels, network)
        .time({{{64, 1024, 0, true}}}, true)
        .total.value;
  };
  EXPECT_NEAR(us(prefill(microseconds(60)) - prefill(Seconds(0))), 58 * (50 + 20), 1e-6);
  // 90 and 60 us are exposed of moves of 100 us, and the wires carry one move after the other: 4 x
  // 100 us are longer than kernels of 240 and these.
  EXPECT_NEAR(us(prefill(microseconds(100)) - prefill(Seconds(0))), 58 * (90 + 60 + 10), 1e-6);
}

// Kernels bound by arithmetic have three quarters of the multiprocessors; those bound by memory
// lose nothing.
TEST_F(TwoBatches, MovesTakeMultiprocessorsFromKernels) {
  network.move = microseconds(10);
  network.held = 0.25;
  const double others = us(time(false).kernels) - layers();
  EXPECT_NEAR(us(time(true).total.value), others + 2 * layers(), 1e-6);
  kernels.bound = Bound::kCompute;
  EXPECT_NEAR(us(time(true).total.value), others + 2 * layers() / 0.75, 1e-6);
}

TEST_F(TwoBatches, LongMovesKeepTheirError) {
  network.move = milliseconds(10);
  const StepTime t = time(true);
  EXPECT_NEAR(t.total.shared, 0.2, 0.01);
}

// The defaults of vLLM: 32 tokens of a rank in decode.
TEST_F(TwoBatches, SmallStepsAreNotHalved) {
  EXPECT_EQ(time(true, 64 * 31).total.value, time(false, 64 * 31).total.value);
  EXPECT_NE(time(true, 64 * 32).total.value, time(false, 64 * 32).total.value);
  EXPECT_TRUE(in_two_batches(plan, 512, false));
  EXPECT_FALSE(in_two_batches(plan, 511, false));
}

TEST(HalfOf, HalvesSequencesOrElseTokens) {
  const Batch many = half_of({{{9, 1, 100, true}, {4, 512, 0, true}}, 0, {}, 71}, 8);
  EXPECT_EQ(many.groups[0].sequences, 5);
  EXPECT_EQ(many.groups[1].sequences, 2);
  EXPECT_EQ(many.groups[1].new_tokens, 512);
  EXPECT_EQ(many.all_tokens, 36);
  // One prompt on each of 8 ranks: halves of 500 tokens, after 0 and 500.
  const Batch one = half_of({{{8, 1000, 0, true}}}, 8);
  EXPECT_EQ(one.groups[0].sequences, 8);
  EXPECT_EQ(one.groups[0].new_tokens, 500);
  EXPECT_DOUBLE_EQ(one.groups[0].past, 250);
}

}  // namespace two_batch_test
}  // namespace orrery
