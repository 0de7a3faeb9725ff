// The composition of a step from kernels with fixed times.
#include "orrery/step/step_model.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "tests/fakes/network.h"

namespace orrery {
namespace step_model_test {

// Every kernel takes 10 us, every collective 5 us, whatever it is.
class TenMicroseconds : public KernelModel {
 public:
  KernelTime predict(const Op&) const override {
    return {{microseconds(10), 0.1, 0.0, Origin::kMeasured},
            microseconds(1),
            microseconds(2),
            Bound::kMemory};
  }
  std::string provenance(const Op&) const override { return "fake"; }
};

class FiveMicroseconds : public FakeNetwork {
 public:
  using FakeNetwork::predict;
  CollectiveTime predict(const Collective& c) const override {
    CollectiveTime t{};
    if (c.ranks > 1) t.time = {microseconds(5), 0, 0, Origin::kMeasured};
    return t;
  }
};

class Step : public testing::Test {
 protected:
  StepTime time(const Batch& batch) const {
    return StepModel(model, plan, precision, engine, kernels, network).time(batch, true);
  }
  static Batch decode(std::int64_t n) { return {{{n, 1, 1000, true}}}; }
  static double us(Seconds t) { return t / microseconds(1); }

  Architecture model = load_model("llama-3-8b");
  ParallelPlan plan;
  Precision precision = native_precision(model);
  EngineProfile engine;
  TenMicroseconds kernels;
  FiveMicroseconds network;
};

TEST_F(Step, IsTheSumOfItsKernels) {
  const StepTime t = time(decode(4));
  double calls = 0;
  for (const StepTerm& term : t.terms) calls += term.op.count;
  EXPECT_NEAR(us(t.kernels), calls * 10, 1e-6);
  EXPECT_NEAR(us(t.total.value), calls * 10, 1e-6);
  EXPECT_EQ(t.exposed, Seconds(0));
}

TEST_F(Step, FusibleKernelsDisappearWhereTheEngineFuses) {
  engine.execution.fused = false;
  const StepTime apart = time(decode(4));
  engine.execution.fused = true;
  const StepTime fused = time(decode(4));
  EXPECT_NEAR(us(apart.total.value - fused.total.value), 32 * 10,
              1e-6);  // one rotary kernel a layer
}

// Two products of 10 us, of which 2 us are the memory's, behind routed experts of 10 us.
TEST_F(Step, SharedExpertsHideBehindTheRoutedOnesInSmallSteps) {
  model = load_model("deepseek-v3");
  precision = native_precision(model);
  const StepTime one_stream = time(decode(4));
  engine.execution.shared_experts_stream_tokens = 8;
  EXPECT_NEAR(us(one_stream.total.value - time(decode(4)).total.value), 58 * 10, 1e-6);
  const StepTime wide = time(decode(9));
  engine.execution.shared_experts_stream_tokens = 0;
  EXPECT_EQ(wide.total.value, time(decode(9)).total.value);
  // An eager step has one stream.
  engine.execution.shared_experts_stream_tokens = 8;
  engine.execution.decode_graphs = false;
  EXPECT_EQ(time(decode(4)).kernels, one_stream.kernels);
}

TEST_F(Step, EagerLaunchesSetThePaceWhenTheyAreSlower) {
  engine.execution.decode_graphs = false;
  engine.execution.launch = microseconds(30);
  const StepTime t = time(decode(4));
  EXPECT_FALSE(t.replayed);
  EXPECT_NEAR(us(t.total.value), us(t.kernels) * 3, 1e-6);
  engine.execution.launch = microseconds(3);
  EXPECT_EQ(time(decode(4)).exposed, Seconds(0));
}

// 61 layers, 58 of them with routed experts, whose host time belongs to prompts.
TEST_F(Step, RoutedExpertsTakeTheHostLongerInEagerStepsWithPrompts) {
  model = load_model("deepseek-v3");
  precision = native_precision(model);
  engine.execution.host_per_moe_layer = milliseconds(1);
  EXPECT_EQ(us(time(decode(4)).launches), 0);  // replayed
  engine.execution.decode_graphs = false;
  const Batch prompt{{{1, 4, 0, true}}};
  const StepTime with = time(prompt), decoding = time(decode(4));
  engine.execution.host_per_moe_layer = milliseconds(0);
  EXPECT_NEAR(us(with.launches - time(prompt).launches), 58 * 1000, 1e-6);
  EXPECT_NEAR(us(with.total.value), us(with.launches), 1e-6);
  EXPECT_NEAR(us(decoding.launches - time(decode(4)).launches), 0, 1e-6);
}

TEST_F(Step, GraphLaunchesSetThePaceWhenTheyAreSlower) {
  engine.execution.graph_launch = milliseconds(1);  // a layer
  const StepTime t = time(decode(4));
  EXPECT_TRUE(t.replayed);
  EXPECT_NEAR(us(t.total.value), 1000.0 * 32, 1e-6);
}

TEST_F(Step, GapsCountInEagerStepsOnly) {
  engine.execution.kernel_gap = microseconds(10);
  EXPECT_EQ(time(decode(4)).exposed, Seconds(0));  // replayed from a graph
  engine.execution.decode_graphs = false;
  const StepTime t = time(decode(4));
  EXPECT_NEAR(us(t.total.value), 2 * us(t.kernels), 1e-6);
}

TEST_F(Step, HostTimeIsAddedOrHidden) {
  engine.execution.host_per_step = milliseconds(1);
  engine.execution.host_per_sequence = microseconds(100);
  engine.execution.host_overlapped = false;
  const StepTime after = time(decode(4));
  EXPECT_NEAR(us(after.exposed), 1400, 1e-6);
  EXPECT_NEAR(us(after.serial_host), 1400, 1e-6);
  engine.execution.host_overlapped = true;
  EXPECT_EQ(time(decode(4)).exposed, Seconds(0));
  engine.execution.host_per_step = milliseconds(100);
  EXPECT_NEAR(us(time(decode(4)).total.value), 100400, 1e-6);
}

TEST_F(Step, PrefillHasAFloor) {
  engine.execution.prefill_floor = milliseconds(60);
  EXPECT_NEAR(us(time({{{1, 100, 0, true}}}).total.value), 60000, 1e-6);
  EXPECT_LT(us(time(decode(1)).total.value), 60000);
}

// Where prompts are replayed in pieces neither launches nor the floor count, up to the largest
// graph.
TEST_F(Step, ShortPromptsAreReplayedInPieces) {
  engine.execution.launch = milliseconds(1);
  engine.execution.prefill_floor = milliseconds(600);
  const Batch small{{{1, 500, 0, true}}}, large{{{1, 600, 0, true}}};
  const Seconds eager = time(small).total.value;
  EXPECT_GE(eager, milliseconds(600));
  engine.execution.prefill_graphs = true;
  const StepTime pieces = time(small);
  EXPECT_LT(pieces.total.value, eager / 2.0);
  EXPECT_NEAR(us(pieces.launches), 2000.0 * pieces.layers, 1e-6);  // attention and a piece
  EXPECT_GE(time(large).total.value, milliseconds(600));
}

TEST_F(Step, GraphsPadTheBatchToACapturedSize) {
  const auto rows_of = [](const StepTime& t) {
    for (const StepTerm& term : t.terms) {
      if (const auto* g = std::get_if<Gemm>(&term.op.op)) return g->m;
    }
    return std::int64_t{0};
  };
  engine.execution.graph_sizes = "1, 2, 4, 8-256+8, 256+16";
  EXPECT_EQ(rows_of(time(decode(3))), 4);
  EXPECT_EQ(rows_of(time(decode(9))), 16);
  EXPECT_EQ(rows_of(time(decode(257))), 272);
  EXPECT_EQ(rows_of(time(decode(513))), 513);  // above the largest graph
  engine.execution.decode_graphs = false;
  EXPECT_EQ(rows_of(time(decode(9))), 9);
  // Prompts that are replayed in pieces too, but for their attention.
  const auto prompt = [](std::int64_t tokens) { return Batch{{{1, tokens, 0, true}}}; };
  EXPECT_EQ(rows_of(time(prompt(500))), 500);
  engine.execution.decode_graphs = engine.execution.prefill_graphs = true;
  const StepTime pieces = time(prompt(500));
  EXPECT_EQ(rows_of(pieces), 512);
  for (const StepTerm& term : pieces.terms) {
    const auto* attention = std::get_if<PrefillAttention>(&term.op.op);
    EXPECT_TRUE(!attention || attention->new_tokens == 500);
  }
  EXPECT_EQ(rows_of(time(prompt(513))), 513);
}

TEST_F(Step, CollectivesAddTheirTimeAndTheEnginesLatency) {
  plan.tp = 4;
  const StepTime t = time(decode(4));
  double collectives = 0;
  for (const StepTerm& term : t.terms) {
    if (std::holds_alternative<Collective>(term.op.op)) collectives += term.op.count;
  }
  ASSERT_GE(collectives, 64);  // two a layer
  EXPECT_NEAR(us(t.communication), collectives * 5, 1e-6);
  engine.execution.collective_latency = microseconds(3);
  EXPECT_NEAR(us(time(decode(4)).communication), collectives * (5 + 3 * 2), 1e-6);  // log2(4)
}

TEST_F(Step, StagesOneByOneCountTheHeadOnce) {
  const StepModel whole(model, plan, precision, engine, kernels, network);
  plan.pp = 4;
  ParallelPlan four = plan;
  const StepModel stages(model, four, precision, engine, kernels, network);
  const Seconds alone = stages.through_all_stages(decode(1)).value;
  plan.pp = 1;
  const Seconds one = whole.time(decode(1)).total.value;
  // The same kernels plus three or four sends of 5 us.
  EXPECT_GE(us(alone), us(one));
  EXPECT_LE(us(alone), us(one) + 4 * 5 + 1e-6);
}

// Llama 3 8B has 32 query heads and 8 KV heads. 16 sequences have 512 heads, 17 have 544.
TEST_F(Step, DecodeAttentionBeyondTheSplitsReadsItsKeysForEveryQueryHead) {
  const auto attention = [](const StepTime& t) {
    double sum = 0;
    for (const StepTerm& term : t.terms)
      if (std::holds_alternative<DecodeAttention>(term.op.op)) sum += us(term.time.value);
    return sum;
  };
  EXPECT_NEAR(attention(time(decode(17))), 32 * 10.0, 1e-6);
  engine.kernels.decode_attention_factor = 2;
  engine.kernels.split_decode_queries = 512;
  engine.kernels.unsplit_decode_factor = 1.5;
  EXPECT_NEAR(attention(time(decode(16))), 32 * 10 * 2.0, 1e-6);
  EXPECT_NEAR(attention(time(decode(17))), 32 * 10 * 2 * 1.5 * 4, 1e-6);
}

TEST_F(Step, StagesAfterTheFirstMayBeSlower) {
  plan.pp = 4;
  const StepModel stages(model, plan, precision, engine, kernels, network);
  const auto kernels_of = [&](int stage) {
    return us(stages.time(decode(1), false, stage).kernels);
  };
  const double first = kernels_of(0), second = kernels_of(1);
  engine.kernels.later_stage_factor = 10;
  EXPECT_NEAR(kernels_of(0), first, 1e-6);
  EXPECT_NEAR(kernels_of(1), 10 * second, 1e-6);
}

TEST_F(Step, SharedErrorsOfAFamilyStayWhatTheyAre) {
  engine.step_error = 0;
  const StepTime t = time(decode(4));
  EXPECT_LE(t.total.shared, 0.1 + 1e-12);  // several families of 10 % each: at most 10 %
  EXPECT_GT(t.total.shared, 0.05);
}

}  // namespace step_model_test
}  // namespace orrery
