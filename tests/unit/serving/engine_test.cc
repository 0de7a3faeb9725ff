#include "orrery/serving/engine.h"

#include <gtest/gtest.h>

#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace {

// Two stages of 10 ms and 1 ms a prompt token each.
SimulationConfig two_stages() {
  SimulationConfig c = plain_service();
  c.replica.stages = 2;
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
  c.replica.limits.max_num_batched_tokens = 5;  // a prompt each step
  const SimulationResult r = run(c, load_of({request_at({}, 5, 2), request_at({}, 5, 2)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(30));
  EXPECT_EQ(r.records[1].first_token, ms(45));  // enters at 15
  // Enters at 30; the other is in stage 2 until 45.
  EXPECT_EQ(r.records[0].finished, ms(55));
  EXPECT_EQ(r.records[1].finished, ms(65));
}

TEST(Pipeline, AShortStepDoesNotOvertake) {
  SimulationConfig c = two_stages();
  c.replica.limits.max_num_batched_tokens = 100;
  // The long prompt is in stage 1 until 110, in stage 2 until 220; the short step follows it.
  const SimulationResult r = run(c, load_of({request_at({}, 100, 1), request_at(ms(1), 1, 1)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(220));
  EXPECT_EQ(r.records[1].first_token, ms(231));
}

TEST(Pipeline, ChunksOfAPromptFollowEachOther) {
  SimulationConfig c = two_stages();
  c.replica.limits.max_num_batched_tokens = 10;
  // Two chunks of 10 tokens: at 0 and 20 into the first stage, out at 40 and 60.
  const SimulationResult r = run(c, load_of({request_at({}, 20, 1)}), 2);
  EXPECT_EQ(r.records[0].first_token, ms(60));
}

TEST(DataParallel, RanksStepTogether) {
  SimulationConfig c = plain_service();
  c.replica.ranks = 2;
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

TEST(DataParallel, MemoryIsEachRanksOwn) {
  // Each holds two blocks: two requests of two blocks run side by side, the third waits.
  SimulationConfig c = plain_service();
  c.replica.ranks = 2;
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
  c.replica.ranks = 3;
  PlainTimer timer;
  simulate(c, load, timer);
  // After the first wave (one request alone) five wait; they spread over the ranks.
  EXPECT_EQ(timer.shapes[0].wave_tokens, 8 + 2);
  EXPECT_EQ(timer.shapes[1].wave_tokens, 5 * 8 + 1);
}

}  // namespace
}  // namespace orrery
