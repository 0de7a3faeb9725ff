#include "orrery/serving/engine/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/scheduler_keys.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace engine_test {

// Two stages of 10 ms and 1 ms a prompt token each.
SimulationConfig two_stages() {
  SimulationConfig c = plain_service();
  c.replica.plan.pp = 2;
  return c;
}

SimulationResult run(const SimulationConfig& config, const RequestLoad& load,
                     std::int64_t stages = 1) {
  PlainTimer timer;
  timer.stages = stages;
  return simulate(config, load, timer);
}

TEST(Pipeline, OneRequestPassesAllStages) {
  const SimulationResult r = run(two_stages(), load_of({request_at({}, 5, 3)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(30));
  EXPECT_EQ(r.records[0].finished, ms(70));         // each token waits for the one before
  EXPECT_DOUBLE_EQ(r.total().busy.value(), 0.035);  // of each stage
}

TEST(Pipeline, StepsFollowEachOtherAtThePaceOfAStage) {
  SimulationConfig c = two_stages();
  c.replica.engine.scheduler.max_num_batched_tokens = 5;  // a prompt each step
  const SimulationResult r = run(c, load_of({request_at({}, 5, 2), request_at({}, 5, 2)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(30));
  EXPECT_EQ(r.records[1].first_token, ms(45));  // enters at 15
  // Enters at 30; the other is in stage 2 until 45.
  EXPECT_EQ(r.records[0].finished, ms(55));
  EXPECT_EQ(r.records[1].finished, ms(65));
}

TEST(Pipeline, AShortStepDoesNotOvertake) {
  SimulationConfig c = two_stages();
  c.replica.engine.scheduler.max_num_batched_tokens = 100;
  // The long prompt is in stage 1 until 110, in stage 2 until 220; the short step follows it.
  const SimulationResult r = run(c, load_of({request_at({}, 100, 1), request_at(ms(1), 1, 1)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(220));
  EXPECT_EQ(r.records[1].first_token, ms(231));
}

TEST(Pipeline, ChunksOfAPromptFollowEachOther) {
  SimulationConfig c = two_stages();
  c.replica.engine.scheduler.max_num_batched_tokens = 10;
  // Two chunks of 10 tokens: at 0 and 20 into the first stage, out at 40 and 60.
  const SimulationResult r = run(c, load_of({request_at({}, 20, 1)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(60));
}

TEST(DataParallel, RanksStepTogether) {
  SimulationConfig c = plain_service();
  c.replica.plan.dp = 2;
  PlainTimer timer;
  const SimulationResult r =
      simulate(c, load_of({request_at({}, 5, 3), request_at(ms(1), 20, 2)}), timer);
  // The first wave is the first request's alone; the second carries the other's prompt.
  EXPECT_EQ(r.records[0].first_token, ms(15));
  EXPECT_EQ(r.records[1].first_token, ms(45));
  EXPECT_EQ(r.records[0].finished, ms(55));  // 45 and a step of 10
  EXPECT_EQ(r.records[1].finished, ms(55));
  ASSERT_EQ(timer.shapes.size(), 5u);             // later waves have a busiest and a deepest rank
  EXPECT_EQ(timer.shapes[0].wave_tokens, 5 + 1);  // the idle rank's dummy step has a token
  EXPECT_EQ(timer.shapes[1].wave_tokens, 20 + 1);
  EXPECT_EQ(timer.shapes[3].wave_tokens, 2);
  EXPECT_EQ(r.total().steps, 3);
}

// Two ranks decode, a prompt comes to one of them: it waits for one on the other rank.
TEST(DataParallel, BalancedPromptsWaitForEachOther) {
  const auto first_token = [](std::int64_t timeout, std::vector<Request> more) {
    SimulationConfig c = plain_service();
    c.replica.engine.scheduler.policy = "trtllm";
    c.replica.plan.dp = 2;
    set_keys(c.replica.engine.scheduler, fmt::format("balance_timeout: {}", timeout));
    std::vector<Request> all = {request_at({}, 5, 40), request_at({}, 5, 40)};
    all.insert(all.end(), more.begin(), more.end());
    return run(c, load_of(all)).records[2].first_token;
  };
  // The first prompt is computed until 15, the second until 30; the third has arrived by then.
  const Request third = request_at(ms(20), 5, 2), fourth = request_at(ms(50), 5, 2);
  EXPECT_EQ(first_token(0, {third}), ms(45));
  EXPECT_EQ(first_token(0, {third, fourth}), ms(45));
  // With the fourth, in the step that begins when that arrives.
  EXPECT_EQ(first_token(60, {third, fourth}), ms(65));
  // Alone: in the seventh step after the one that let prompts in; it begins at 90.
  EXPECT_EQ(first_token(7, {third}), ms(105));
  // Never: when a rank has nothing to decode; the first has its 40 tokens at 30 + 38 * 10.
  EXPECT_EQ(first_token(1000, {third}), ms(425));
}

// The first rank decodes one sequence and the second two when two prompts come. The first prompt
// goes to the first rank. Under vLLM, where waiting requests count 4, the other one goes to the
// second rank, and both are computed in the wave of 15 ms after the one that ends at 205. Under
// TensorRT-LLM, where they count 1, both are on the first rank and wait for one on the second.
TEST(DataParallel, RanksAreChosenByTheWeightOfWaitingRequests) {
  const auto first_tokens = [](const char* policy, const char* keys) {
    SimulationConfig c = plain_service();
    c.replica.engine.scheduler.policy = policy;
    c.replica.plan.dp = 2;
    set_keys(c.replica.engine.scheduler, keys);
    const SimulationResult r = run(
        c, load_of({request_at({}, 5, 60), request_at({}, 5, 60), request_at({}, 5, 2),
                    request_at({}, 5, 60), request_at(ms(200), 5, 2), request_at(ms(200), 5, 2)}));
    return std::pair(r.records[4].first_token, r.records[5].first_token);
  };
  const auto heavy = first_tokens("vllm", "{}"),
             light = first_tokens("trtllm", "balance_timeout: 1000");
  EXPECT_EQ(heavy.first, ms(205 + 15));
  EXPECT_EQ(heavy.second, ms(205 + 15));
  EXPECT_GT(light.first, ms(500));
  EXPECT_GT(light.second, ms(500));
}

// Only the first prompt of a cold engine waits for compilation and loading.
TEST(Engine, StartUpIsPaidOnce) {
  SimulationConfig c = plain_service();
  const RequestLoad load =
      load_of({request_at({}, 5, 2), request_at({}, 5, 2), request_at(ms(2000), 5, 2)});
  const SimulationResult warm = run(c, load);
  c.replica.engine.execution.start_up = milliseconds(500);
  c.replica.engine.execution.cold = true;
  const SimulationResult cold = run(c, load);
  EXPECT_EQ(cold.records[0].first_token, warm.records[0].first_token + ms(500));
  EXPECT_EQ(cold.records[1].first_token, warm.records[1].first_token + ms(500));
  EXPECT_EQ(cold.records[2].first_token, warm.records[2].first_token);
}

// The first step that continues a prompt compiles kernels, and no later one. Steps of 10 tokens: 10
// ms and 1 ms a token; the second prompt is cut, and so is the third.
TEST(Engine, OnlyTheFirstContinuedPromptIsCompiledFor) {
  SimulationConfig c = plain_service();
  c.replica.engine.scheduler.max_num_batched_tokens = 10;
  const RequestLoad load =
      load_of({request_at({}, 5, 2), request_at(ms(1000), 15, 2), request_at(ms(3000), 15, 2)});
  const SimulationResult warm = run(c, load);
  c.replica.engine.execution.continued_start_up = milliseconds(500);
  c.replica.engine.execution.cold = true;
  const SimulationResult cold = run(c, load);
  EXPECT_EQ(cold.records[0].first_token, warm.records[0].first_token);
  EXPECT_EQ(cold.records[1].first_token, warm.records[1].first_token + ms(500));
  EXPECT_EQ(cold.records[2].first_token, warm.records[2].first_token);
}

TEST(DataParallel, MemoryIsEachRanksOwn) {
  // Each holds two blocks: two requests of two blocks run side by side, the third waits.
  SimulationConfig c = plain_service();
  c.replica.plan.dp = 2;
  c.replica.kv_blocks = 2;
  const Request q = request_at({}, 30, 2);
  const SimulationResult r = run(c, load_of({q, q, q}));
  EXPECT_EQ(r.records[0].scheduled, ms(0));
  EXPECT_EQ(r.records[1].scheduled, ms(40));  // the wave after the first
  EXPECT_EQ(r.records[2].scheduled, r.records[0].finished);
  EXPECT_EQ(r.total().evictions, 0);
}

TEST(DataParallel, RequestsGoToTheRankWithTheLeastLoad) {
  RequestLoad load = load_of(std::vector<Request>(6, request_at({}, 8, 4)));
  SimulationConfig c = plain_service();
  c.replica.plan.dp = 3;
  PlainTimer timer;
  simulate(c, load, timer);
  // After the first wave (one request alone) five wait; they spread over the ranks.
  EXPECT_EQ(timer.shapes[0].wave_tokens, 8 + 2);
  EXPECT_EQ(timer.shapes[1].wave_tokens, 5 * 8 + 1);
}

}  // namespace engine_test
}  // namespace orrery
