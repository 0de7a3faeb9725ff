// Do requests pass the front end one after the other, and then wait the overhead?
#include <gtest/gtest.h>

#include "orrery/serving/cluster/simulation.h"

namespace orrery {
namespace front_end_test {

class TenMilliseconds : public StepTimer {
 public:
  SimTime time(const StepShape&) override { return sim_seconds(0.01); }
};

RequestLoad one_token_requests(int n) {
  RequestLoad load;
  load.requests.resize(static_cast<std::size_t>(n));
  return load;
}

// Two users, 2 ms a request in the front end and 5 ms besides; steps of 10 ms.
//   request 0  sent 0, admitted 2, queued 7, step 7 to 17
//   request 1  sent 0, admitted 4, queued 9, step 17 to 27
//   request 2  sent 17 when 0 ended, queued 24, step 27 to 37
//   request 3  sent 27, queued 34, step 37 to 47
TEST(FrontEnd, RequestsPassOneAfterTheOther) {
  SimulationConfig config;
  config.replica.kv_blocks = 100;
  config.max_concurrency = 2;
  config.replica.engine.execution.frontend_per_request = Seconds(0.002);
  config.replica.engine.execution.request_overhead = Seconds(0.005);
  TenMilliseconds timer;
  const RequestLoad load = one_token_requests(4);
  const SimulationResult r = simulate(config, load, timer);
  const double sent[] = {0, 0, 0.017, 0.027}, queued[] = {0.007, 0.009, 0.024, 0.034},
               ttft[] = {0.017, 0.027, 0.020, 0.020};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(r.records[i].arrival.seconds(), sent[i], 1e-12) << i;
    EXPECT_NEAR(r.records[i].queued.seconds(), queued[i], 1e-12) << i;
    EXPECT_NEAR(r.records[i].ttft().value(), ttft[i], 1e-12) << i;
  }
}

// 1 us for each prompt token; the second, short, does not overtake the first.
TEST(FrontEnd, LongPromptsWaitLonger) {
  SimulationConfig config;
  config.replica.kv_blocks = 1000;
  config.replica.engine.execution.overhead_per_prompt_token = Seconds(1e-6);
  RequestLoad load = one_token_requests(3);
  load.requests[0].input = 5000;
  load.requests[2].arrival = sim_seconds(0.1);
  load.requests[2].input = 2000;
  TenMilliseconds timer;
  const SimulationResult r = simulate(config, load, timer);
  const double queued[] = {0.005, 0.005, 0.102};
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(r.records[i].queued.seconds(), queued[i], 1e-12) << i;
}

// Steps of 10 ms under a scheduler that gives prompts steps of their own, 20 ms to deliver a token.
//   step 0 to 10    token 1 of request 0, delivered at 30
//   step 10 to 20   token 1 of request 1, delivered at 50
//   step 20 to 30   token 2 of both, delivered at 70 and 90
//   step 30 to 40   token 3 of both, delivered at 110 and 130
//   step 110 to 120 request 2, sent at 110 when request 0 ended for its user; its token waits until
//                   130 and is delivered at 150, 40 ms after it was sent
TEST(FrontEnd, FirstTokensWaitBehindTokensOfOthers) {
  SimulationConfig config;
  config.replica.engine.scheduler.policy = "sglang";
  config.replica.engine.scheduler.async_scheduling = false;
  config.replica.kv_blocks = 100;
  config.replica.engine.execution.frontend_per_token = Seconds(0.02);
  config.max_concurrency = 2;
  RequestLoad load = one_token_requests(3);
  load.requests[0].output = load.requests[1].output = 3;
  TenMilliseconds timer;
  const SimulationResult r = simulate(config, load, timer);
  const double ttft[] = {0.03, 0.05, 0.04}, finished[] = {0.11, 0.13, 0.15};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(r.records[i].ttft().value(), ttft[i], 1e-12) << i;
    EXPECT_NEAR(r.records[i].finished.seconds(), finished[i], 1e-12) << i;
  }
  EXPECT_NEAR(r.records[2].arrival.seconds(), 0.11, 1e-12);
}

// A front end that copies the answer so far takes 5 ms more for each token before. Steps take
// 10 ms, tokens 20 ms:
//   step 0 to 10    token 1, delivered at 30
//   step 10 to 20   token 2 takes 25 ms: 55
//   step 20 to 30   token 3 takes 30 ms: 85
TEST(FrontEnd, LaterTokensOfAnAnswerMayTakeLonger) {
  for (const char* scheduler : {"sglang", "vllm"}) {
    SimulationConfig config;
    config.replica.engine.scheduler.policy = scheduler;
    config.replica.engine.scheduler.async_scheduling = false;
    config.replica.kv_blocks = 100;
    config.replica.engine.execution.frontend_per_token = Seconds(0.02);
    config.replica.engine.execution.frontend_per_past_token = Seconds(0.005);
    RequestLoad load = one_token_requests(1);
    load.requests[0].output = 3;
    TenMilliseconds timer;
    const SimulationResult r = simulate(config, load, timer);
    EXPECT_NEAR(r.records[0].ttft().value(), 0.03, 1e-12) << scheduler;
    EXPECT_NEAR(r.records[0].finished.seconds(), 0.085, 1e-12) << scheduler;
  }
}

// Four blocks of 16 tokens for three requests of 15. Steps take 10 ms, tokens 1 ms:
//   step 0 to 10    token 1 of request 0, delivered at 11
//   step 10 to 20   its token 2, and token 1 of the others
//   step 20 to 30   its token 3, which takes the last block, and token 2 of the others
//   step 30 to 40   the others need a block each: request 2 is evicted; token 4 of request 0 is
//                   delivered at 41 and token 3 of request 1 at 42
//   step 40 to 50   request 2 is computed again, and its token 3 delivered at 51
// An asynchronous engine takes the others one step later. It evicts request 2 while step 30 to 40
// runs, of which tokens are then delivered at 41, 42 and 43.
TEST(FrontEnd, TokensGoOutInTurnWhereMemoryIsShort) {
  for (const bool async : {false, true}) {
    SimulationConfig config;
    config.replica.engine.scheduler.async_scheduling = async;
    config.replica.kv_blocks = 4;
    config.replica.engine.execution.frontend_per_token = Seconds(0.001);
    RequestLoad load = one_token_requests(3);
    for (Request& r : load.requests) r.input = 15, r.output = 3;
    load.requests[0].output = 4;
    TenMilliseconds timer;
    const SimulationResult r = simulate(config, load, timer);
    EXPECT_EQ(r.total().evictions, 1) << async;
    EXPECT_NEAR(r.records[0].finished.seconds(), 0.041, 1e-12) << async;
    EXPECT_NEAR(r.records[1].finished.seconds(), async ? 0.051 : 0.042, 1e-12) << async;
    EXPECT_NEAR(r.records[2].finished.seconds(), async ? 0.061 : 0.051, 1e-12) << async;
  }
}

// A request that can never run does not keep its user from sending the next.
TEST(FrontEnd, RejectedRequestsLetTheNextBeSent) {
  SimulationConfig config;
  config.replica.kv_blocks = 100;
  config.replica.kv.max_model_len = 10;
  config.max_concurrency = 1;
  RequestLoad load = one_token_requests(3);
  load.requests[1].input = 11;
  TenMilliseconds timer;
  const SimulationResult r = simulate(config, load, timer);
  EXPECT_EQ(r.records[1].outcome, Outcome::kTooLong);
  EXPECT_EQ(r.records[2].outcome, Outcome::kDone);
  EXPECT_NEAR(r.records[2].finished.seconds(), 0.02, 1e-12);
}

}  // namespace front_end_test
}  // namespace orrery
