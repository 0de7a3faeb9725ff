// Acceptance of drafts as a process, and the engine that verifies them.
#include "orrery/serving/steps/speculation.h"

#include <gtest/gtest.h>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/steps/drafting_clock.h"

namespace orrery {
namespace speculation_test {

Speculation chain(std::int32_t drafts, double a) {
  Speculation s;
  s.drafts = drafts;
  s.acceptance = {a};
  return s;
}

TEST(Acceptance, ExpectedTokensOfAChain) {
  // (1 - a^(k+1)) / (1 - a): Leviathan et al. 2023, equation 1.
  EXPECT_NEAR(tokens_per_verification(chain(5, 0.7)), (1 - 0.117649) / 0.3, 1e-12);
  EXPECT_EQ(tokens_per_verification(chain(4, 1)), 5);
  EXPECT_EQ(tokens_per_verification(chain(4, 0)), 1);
}

TEST(Acceptance, PositionsOfTheirOwn) {
  Speculation s = chain(4, 0);
  s.acceptance = {0.8, 0.5};
  s.decay = 0.5;  // third 0.25, fourth 0.125
  EXPECT_NEAR(tokens_per_verification(s), 1 + 0.8 + 0.4 + 0.1 + 0.0125, 1e-12);
}

TEST(Acceptance, CountsFollowATruncatedGeometricDistribution) {
  Acceptance process(chain(3, 0.6));
  std::array<int, 4> seen{};
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i)
    ++seen[static_cast<std::size_t>(
        process.accepted(static_cast<std::uint32_t>(i / 200), i % 200, 3))];
  const std::array<double, 4> expected = {0.4, 0.6 * 0.4, 0.36 * 0.4, 0.216};
  for (std::size_t n = 0; n < 4; ++n) {
    const double deviation = std::sqrt(kDraws * expected[n] * (1 - expected[n]));
    EXPECT_NEAR(seen[n], kDraws * expected[n], 4 * deviation) << n;
  }
}

TEST(Acceptance, ADrawDependsOnNothingButItsPlace) {
  Acceptance one(chain(5, 0.7)), other(chain(5, 0.7));
  const auto first = one.accepted(3, 17, 5);
  for (int i = 0; i < 10; ++i) other.accepted(9, i, 5);
  EXPECT_EQ(other.accepted(3, 17, 5), first);
  EXPECT_EQ(one.accepted(3, 17, 2), std::min(first, 2));  // fewer drafts: the same beginning
}

TEST(Acceptance, SpreadOfRequestsKeepsTheMeanOfOneDraft) {
  Speculation s = chain(1, 0.5);
  s.spread = 0.8;
  Acceptance process(s);
  int accepted = 0;
  double low = 1, high = 0;
  for (std::uint32_t request = 0; request < 400; ++request) {
    int own = 0;
    for (int i = 0; i < 200; ++i) own += process.accepted(request, i, 1);
    accepted += own;
    low = std::min(low, own / 200.0);
    high = std::max(high, own / 200.0);
  }
  EXPECT_NEAR(accepted / 80000.0, 0.5, 0.05);  // 400 factors of deviation 0.46
  EXPECT_LT(low, 0.25);
  EXPECT_GT(high, 0.75);
}

TEST(Acceptance, ATreeIsCutByItsDepth) {
  Speculation s = chain(4, 1);
  s.tree_tokens = 20;
  Acceptance process(s);
  EXPECT_EQ(s.verified(), 20);
  EXPECT_EQ(process.accepted(0, 1, 20), 4);
  EXPECT_EQ(process.accepted(0, 1, 10), 2);  // half of the tree fitted
}

// A clock whose steps take a millisecond. It records the shapes that it was asked about.
class Milliseconds : public StepTimer {
 public:
  SimTime time(const StepShape& step) override {
    shapes.push_back(step);
    chunks.emplace_back(step.chunks.begin(), step.chunks.end());
    return sim_seconds(1e-3);
  }
  std::vector<StepShape> shapes;
  std::vector<std::vector<PromptChunk>> chunks;
};

RequestLoad requests(int n, std::int32_t input, std::int32_t output) {
  RequestLoad load;
  load.requests.resize(static_cast<std::size_t>(n));
  for (Request& r : load.requests) r.input = input, r.output = output;
  return load;
}

SimulationConfig engine(const Speculation& s, std::int64_t kv_blocks = 1000) {
  SimulationConfig c;
  c.replica.kv_blocks = kv_blocks;
  c.replica.speculation = s;
  return c;
}

TEST(Speculating, CertainAcceptanceMakesAllDraftsAndOne) {
  // One token after the prompt's step, then 4 a step: 1 + 3 * 4 = 13, and one step for the last.
  Milliseconds timer;
  const SimulationResult r = simulate(engine(chain(3, 1)), requests(1, 100, 14), timer);
  EXPECT_EQ(r.total().steps, 5);
  EXPECT_EQ(r.records[0].finished, sim_seconds(5e-3));
  EXPECT_EQ(r.total().output_tokens, 14);
  ASSERT_EQ(timer.shapes.size(), 5u);
  EXPECT_EQ(timer.shapes[1].verifies, 1);
  EXPECT_EQ(timer.shapes[1].verify_tokens, 4);
  EXPECT_EQ(timer.shapes[1].verify_past, 100);
  EXPECT_EQ(timer.shapes[2].verify_past, 104);
  EXPECT_EQ(r.total().verifications, 4);
  EXPECT_EQ(r.total().accepted, 12);
  EXPECT_EQ(r.gaps.count(), 4);  // tokens of a step come together
}

TEST(Speculating, RejectedDraftsAreRolledBack) {
  Milliseconds timer;
  const SimulationResult r = simulate(engine(chain(3, 0)), requests(1, 100, 10), timer);
  EXPECT_EQ(r.total().steps, 10);
  for (std::size_t i = 1; i < timer.shapes.size(); ++i)
    EXPECT_EQ(timer.shapes[i].verify_past, 99 + static_cast<std::int64_t>(i));
  EXPECT_EQ(r.total().accepted, 0);
}

TEST(Speculating, DraftsCountAgainstTheTokenBudget) {
  Milliseconds timer;
  SimulationConfig c = engine(chain(7, 0.5));
  c.replica.engine.scheduler.max_num_batched_tokens = 20;
  const SimulationResult r = simulate(c, requests(6, 10, 30), timer);
  for (std::size_t i = 0; i < timer.shapes.size(); ++i) {
    std::int64_t tokens = timer.shapes[i].decodes + timer.shapes[i].verify_tokens;
    for (const PromptChunk& p : timer.chunks[i]) tokens += p.new_tokens;
    EXPECT_LE(tokens, 20);
  }
  EXPECT_EQ(r.total().output_tokens, 180);
}

TEST(Speculating, ARequestThatFillsThePoolEnds) {
  // 112 + 16 tokens, the last never cached: 8 blocks, and not a slot for drafts at the end.
  Milliseconds timer;
  const SimulationResult r = simulate(engine(chain(5, 0.5), 8), requests(2, 112, 16), timer);
  EXPECT_EQ(r.total().output_tokens, 32);
  for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kDone);
}

TEST(Speculating, EvictionsUnderPressureLoseNoToken) {
  Milliseconds timer;
  const SimulationResult r = simulate(engine(chain(4, 0.6), 40), requests(20, 60, 90), timer);
  EXPECT_GT(r.total().evictions, 0);
  EXPECT_EQ(r.total().output_tokens, 20 * 90);
}

TEST(Speculating, BlocksThatHoldDraftsAreNotFoundByOthers) {
  // The same 64 tokens twice, one after the other: only whole blocks of known tokens are shared.
  RequestLoad load = requests(2, 64, 40);
  load.ids = {1, 2, 3, 4};
  for (Request& q : load.requests) q.ids = 4;
  load.requests[1].arrival = sim_seconds(1);
  Milliseconds timer;
  const SimulationResult r = simulate(engine(chain(5, 0.3)), load, timer);
  EXPECT_EQ(r.records[1].cached, 48);  // of 64 at least one token is left to compute
}

// As under vLLM: the prompt, three steps of 4 tokens and one for the last. TensorRT-LLM knows that
// no draft can follow it.
TEST(Speculating, UnderOtherSchedulers) {
  for (const char* scheduler : {"sglang", "trtllm", "trtllm-max-utilization"}) {
    Milliseconds timer;
    SimulationConfig c = engine(chain(3, 1));
    c.replica.engine.scheduler.policy = scheduler;
    const SimulationResult r = simulate(c, requests(1, 100, 14), timer);
    EXPECT_EQ(r.total().steps, 5) << scheduler;
    EXPECT_EQ(r.total().output_tokens, 14) << scheduler;
    ASSERT_EQ(timer.shapes.size(), 5u) << scheduler;
    EXPECT_EQ(timer.shapes[2].verify_tokens, 4) << scheduler;
    EXPECT_EQ(timer.shapes[2].verify_past, 104) << scheduler;
    EXPECT_EQ(r.total().verifications, scheduler[0] == 's' ? 4 : 3) << scheduler;
    EXPECT_EQ(timer.shapes[4].decodes, scheduler[0] == 's' ? 0 : 1) << scheduler;
  }
}

TEST(Speculating, OtherSchedulersUnderPressureLoseNoToken) {
  for (const char* scheduler : {"sglang", "trtllm", "trtllm-max-utilization"}) {
    Milliseconds timer;
    SimulationConfig c = engine(chain(4, 0.6), 40);
    c.replica.engine.scheduler.policy = scheduler;
    const SimulationResult r = simulate(c, requests(20, 60, 90), timer);
    EXPECT_EQ(r.total().output_tokens, 20 * 90) << scheduler;
    if (c.replica.engine.scheduler.policy == "trtllm") {
      EXPECT_EQ(r.total().evictions, 0);
    }
    if (c.replica.engine.scheduler.policy == "trtllm-max-utilization") {
      EXPECT_GT(r.total().evictions, 0);
    }
  }
}

TEST(DraftingClock, FirstPassOverTheStepThenOneTokenEach) {
  auto target = std::make_unique<Milliseconds>(), drafter = std::make_unique<Milliseconds>();
  const Milliseconds& asked = *drafter;
  DraftingClock clock(chain(5, 0.7), std::move(target), std::move(drafter), 0);
  StepShape step;
  step.verifies = 2, step.verify_tokens = 12, step.verify_past = 200;
  const std::vector<PromptChunk> chunks = {{30, 10, true}, {50, 0, false}};
  step.chunks = chunks;
  EXPECT_EQ(clock.time(step), sim_seconds(1e-3 * (1 + 5)));
  ASSERT_EQ(asked.shapes.size(), 2u);
  EXPECT_EQ(asked.shapes[0].verify_tokens, 12);
  EXPECT_EQ(asked.chunks[0].size(), 2u);
  EXPECT_EQ(asked.shapes[1].decodes, 3);  // two that verify, one prompt that ends
  EXPECT_EQ(asked.shapes[1].decode_past, 240);
}

TEST(DraftingClock, AShareOfAPlainStep) {
  DraftingClock clock(chain(4, 0.7), std::make_unique<Milliseconds>(), nullptr, 0.1);
  StepShape step;
  step.verifies = 3, step.verify_tokens = 15, step.verify_past = 30;
  EXPECT_EQ(clock.time(step), sim_seconds(1.4e-3));
  const std::vector<PromptChunk> chunks = {{50, 0, false}};  // no token, nothing to draft
  StepShape prompt;
  prompt.chunks = chunks;
  EXPECT_EQ(clock.time(prompt), sim_seconds(1e-3));
}

}  // namespace speculation_test
}  // namespace orrery
