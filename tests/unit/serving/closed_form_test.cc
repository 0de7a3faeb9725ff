// Closed forms of a batch and a closed loop, on steps with simple times.
#include "orrery/serving/closed_form/closed_form.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "tests/fakes/network.h"

namespace orrery {
namespace closed_form_test {

// One microsecond for each token (rows of a GEMM of the down projection), nothing else: a step of n
// tokens takes 32 layers x n us.
class TokensTakeTime : public KernelModel {
 public:
  KernelTime predict(const Op& op) const override {
    const auto* g = std::get_if<Gemm>(&op);
    const bool counted = g && g->k == 14336;
    const Seconds t = counted ? microseconds(static_cast<double>(g->m)) : Seconds(0);
    return {{t, 0, 0, Origin::kMeasured}, Seconds(0), Seconds(0), Bound::kMemory};
  }
  std::string provenance(const Op&) const override { return "fake"; }
};

class ClosedForm : public testing::Test {
 protected:
  ClosedForm() {
    engine.execution.decode_graphs = false;
    engine.execution.launch = Seconds(0);
    engine.scheduler.max_num_batched_tokens = 1000;
  }
  ClosedFormResult run(const ClosedFormWorkload& w, std::int64_t capacity = 1000) const {
    const StepModel steps(model, plan, precision, engine, kernels, network);
    return closed_form(steps, engine, plan, w, capacity, false);
  }
  static double steps_of(Seconds t) { return t / microseconds(32); }  // in tokens

  Architecture model = load_model("llama-3-8b");
  ParallelPlan plan;
  Precision precision = native_precision(model);
  EngineProfile engine;
  TokensTakeTime kernels;
  FakeNetwork network;
};

TEST_F(ClosedForm, OneRequest) {
  const ClosedFormResult r = run({1, 500, 11});
  EXPECT_NEAR(steps_of(r.ttft.value), 500, 1e-6);
  EXPECT_NEAR(steps_of(r.tpot.value), 1, 1e-6);
  EXPECT_NEAR(steps_of(r.e2e.value), 510, 1e-6);
  EXPECT_EQ(r.output_tokens, 11);
}

TEST_F(ClosedForm, OneOutputTokenNeedsNoDecode) {
  const ClosedFormResult r = run({1, 500, 1});
  EXPECT_EQ(r.tpot.value, Seconds(0));
  EXPECT_EQ(r.e2e.value, r.ttft.value);
}

// Requests of all waves of a batch, and of the users that run at a time in a closed loop.
TEST_F(ClosedForm, RequestsEndWithTheirLastToken) {
  ClosedFormWorkload w{5, 100, 11};
  const ClosedFormResult batch = run(w, 2);
  EXPECT_EQ(batch.requests(), 5);
  EXPECT_EQ(batch.osl(), 11);
  EXPECT_EQ(batch.computed.decodes(), 10);
  w.closed_loop = true;
  EXPECT_EQ(run(w, 2).requests(), 2);
}

TEST_F(ClosedForm, CachedPromptTokensAreNotComputed) {
  ClosedFormWorkload w{1, 500, 1};
  w.past = 400;
  EXPECT_NEAR(steps_of(run(w).ttft.value), 100, 1e-6);
}

TEST_F(ClosedForm, ABatchIsPrefilledInStepsOfTheBudget) {
  const ClosedFormResult r = run({5, 400, 2});  // two prompts a step: steps of 800, 800, 400 tokens
  EXPECT_EQ(r.prefill_steps, 3);
  EXPECT_NEAR(steps_of(r.prefill.value), 2000, 1e-6);
  EXPECT_NEAR(steps_of(r.ttft.value), (2 * 800 + 2 * 1600 + 2000) / 5.0, 1e-6);
  EXPECT_NEAR(steps_of(r.tpot.value), 5, 1e-6);
}

TEST_F(ClosedForm, ALongPromptIsCutIntoChunks) {
  const ClosedFormResult r = run({1, 3500, 1});
  EXPECT_EQ(r.prefill_steps, 4);
  EXPECT_NEAR(steps_of(r.ttft.value), 3500, 1e-6);
}

TEST_F(ClosedForm, WavesWhenMemoryHoldsFewer) {
  const ClosedFormResult all = run({4, 100, 11}, 4), half = run({4, 100, 11}, 2);
  EXPECT_EQ(all.waves, 1);
  EXPECT_EQ(half.waves, 2);
  EXPECT_EQ(half.running, 2);
  const ClosedFormResult two = run({2, 100, 11}, 2);
  EXPECT_NEAR(half.makespan.value / two.makespan.value, 2, 1e-9);
  // Half of the requests wait for a whole wave: 200 tokens of prefill and ten steps of two.
  EXPECT_NEAR(steps_of(half.ttft.value), 200 + 0.5 * (200 + 10 * 2), 1e-6);
  EXPECT_NEAR(steps_of(all.ttft.value), 400, 1e-6);
}

TEST_F(ClosedForm, AFullPipelineIsPacedByItsSlowestStage) {
  const ClosedFormResult one = run({8, 100, 11});
  plan.pp = 4;
  const ClosedFormResult four = run({8, 100, 11});
  // Four batches of two sequences in flight, a stage has a quarter of the layers: 4 x 2/4 of 8/8.
  EXPECT_NEAR(four.tpot.value / one.tpot.value, 0.25, 1e-6);
  const ClosedFormResult alone = run({1, 100, 11});
  EXPECT_NEAR(steps_of(alone.tpot.value), 1, 1e-6);  // through all stages, one after the other
}

TEST_F(ClosedForm, AClosedLoopIsInterruptedByNewcomers) {
  ClosedFormWorkload w{10, 100, 50};
  w.closed_loop = true;
  w.equal_lengths = false;
  w.requests_per_user = 0;
  const ClosedFormResult r = run(w);
  EXPECT_NEAR(steps_of(r.tpot.value), 10 + 9.0 / 50 * 100, 1e-6);
  EXPECT_GT(r.ttft.value, microseconds(32 * 100));
  w.requests = 1;
  EXPECT_NEAR(steps_of(run(w).ttft.value), 100, 1e-6);
}

// 100 users end 2 requests in each of the 50 steps of a request: two prompts share a step.
TEST_F(ClosedForm, PromptsThatComeWithinADecodeStepAreComputedTogether) {
  ClosedFormWorkload w{100, 100, 50};
  w.closed_loop = true;
  w.equal_lengths = false;
  w.requests_per_user = 0;
  const ClosedFormResult r = run(w);
  EXPECT_NEAR(steps_of(r.tpot.value), 100 + (100 / 2 - 1) / 50.0 * 200, 1e-6);
  EXPECT_NEAR(steps_of(r.computed.prompts.total.value), 200, 1e-6);
  EXPECT_EQ(r.computed.prompt_steps, 50);
}

// The work of a wave holds every prompt, also where it ends with a step of fewer prompts.
TEST_F(ClosedForm, AllPromptsOfAWaveAreComputed) {
  const auto tokens = [](const ClosedFormResult& r) {
    return steps_of(r.computed.prompts.total.value) * r.computed.prompt_steps;
  };
  ClosedFormWorkload w{5, 400, 20};  // two prompts a step
  EXPECT_NEAR(tokens(run(w)), 5 * 400, 1e-6);
  EXPECT_NEAR(tokens(run({2, 3500, 20})), 2 * 3500, 1e-6);  // chunks
  w.closed_loop = true;
  EXPECT_NEAR(tokens(run(w)), 5 * 400, 1e-6);
  w.equal_lengths = false;
  EXPECT_NEAR(tokens(run(w)), 5 * 400, 1e-6);
  EXPECT_NEAR(tokens(run(w, 2)), 2 * 400, 1e-6);  // memory holds two
}

TEST_F(ClosedForm, TheTimeOfAWaveIsItsShareOfTheMakespan) {
  ClosedFormWorkload w{10, 100, 50};
  EXPECT_EQ(run(w).computed.time, run(w).makespan.value);
  EXPECT_EQ(run(w, 5).computed.time, run(w, 5).makespan.value / 2.0);
  w.closed_loop = true;
  EXPECT_EQ(run(w, 5).computed.time, run(w, 5).makespan.value);
}

TEST_F(ClosedForm, TheFirstWaveOfAClosedLoopWaitsForItsPrefills) {
  ClosedFormWorkload w{10, 100, 50};
  w.closed_loop = true;
  w.requests_per_user = 1;  // nothing but the first wave
  w.equal_lengths = false;  // all prompts in one step of 1000 tokens
  EXPECT_NEAR(steps_of(run(w).ttft.value), 1000, 1e-6);
  w.equal_lengths = true;  // the first finds an idle engine, the others have the step after
  EXPECT_NEAR(steps_of(run(w).ttft.value), (10 * 100 + 9 * 900) / 10.0, 1e-6);
}

// One request in ten of each user is its first, and waits for what the first step takes longer.
TEST_F(ClosedForm, FirstRequestsWaitForTheKernelsOfNewShapes) {
  ClosedFormWorkload w{10, 100, 50};
  w.closed_loop = true;
  w.equal_lengths = false;
  auto& x = engine.execution;
  x.start_up = Seconds(0.2), x.shape_start_up = Seconds(1), x.continued_start_up = Seconds(20);
  const Seconds warm = run(w).ttft.value;
  const auto later = [&] { return (run(w).ttft.value - warm).value(); };
  x.new_shapes = true;
  EXPECT_NEAR(later(), 0.1, 1e-9);
  x.cold = true;  // its start-up is no shorter than that; one step takes all 1,000 tokens
  EXPECT_NEAR(later(), 0.1, 1e-9);
  x.start_up = Seconds(3);
  EXPECT_NEAR(later(), 0.3, 1e-9);
  w.requests = 11;  // 1,100 tokens: a prompt is cut
  const Seconds cold = run(w).ttft.value;
  x.continued_start_up = Seconds(0);
  EXPECT_NEAR((cold - run(w).ttft.value).value(), 2, 1e-9);
}

// Thirty prompts, about five a step. Without asynchronous planning and overhead a group's prompts
// are computed in the step after its end, with nobody before it.
TEST_F(ClosedForm, UsersInStepWaitOnlyForThoseWhoEndBeforeTheirPrompts) {
  engine.execution.request_overhead = Seconds(0);
  engine.scheduler.async_scheduling = false;
  ClosedFormWorkload w{30, 190, 300};
  w.closed_loop = true;
  w.requests_per_user = 0;
  const double none = steps_of(run(w).ttft.value);
  EXPECT_NEAR(none, 1000, 100);  // one step of the budget
  engine.scheduler.async_scheduling = true;
  EXPECT_NEAR(steps_of(run(w).ttft.value), 2 * none, 200);
  engine.scheduler.policy = "sglang";  // prompts alone: all for all
  EXPECT_NEAR(steps_of(run(w).ttft.value), 30 * 190 / 2.0 + 1000 / 2.0, 100);
}

// A prompt of 400 tokens on two stages of 16 layers, 100 tokens a step: a step takes half of 100 x
// 32 us in a stage. All four steps follow one another in 5 passes; in pairs that wait for each
// other they take 2 x 3 passes, and one by one 4 x 2.
TEST_F(ClosedForm, StepsFollowThroughStagesWithinTheTokensThatArePipelined) {
  plan.pp = 2;
  engine.scheduler.max_num_batched_tokens = 100;
  const auto passes = [&](std::int64_t pipelined) {
    engine.scheduler.pipelined_tokens = pipelined;
    return steps_of(run({1, 400, 1}).ttft.value) / 50;
  };
  EXPECT_NEAR(passes(0), 5, 1e-6);
  EXPECT_NEAR(passes(200), 6, 1e-6);
  EXPECT_NEAR(passes(100), 8, 1e-6);
}

}  // namespace closed_form_test
}  // namespace orrery
