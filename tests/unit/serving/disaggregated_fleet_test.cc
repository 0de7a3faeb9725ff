// Disaggregated prefill and decode on engines that fail, come and go, and with the techniques of an
// engine.
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/serving/cluster/simulation.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace disaggregated_fleet_test {

SimulationResult run(const SimulationConfig& config, std::vector<Request> requests) {
  PlainTimer timer;
  return simulate(config, load_of(std::move(requests)), timer);
}

// Where nothing fails, the prompt is computed at 26 ms, its KV cache has moved at 42, and the last
// of three tokens is made at 62.
SimulationConfig failing(std::vector<double> at) {
  SimulationConfig c = disaggregated_service();
  c.failures.at = std::move(at);
  c.failures.restart = milliseconds(100);
  return c;
}

TEST(DisaggregatedFailures, AnEngineThatPrefillsLosesTheTransferUnderWay) {
  SimulationConfig c = failing({0.03});
  c.others[0].replica.kv_blocks = 2;  // those of the first attempt come back
  const SimulationResult r = run(c, {request_at({}, 16, 3)});
  EXPECT_EQ(r.failures, 1);
  EXPECT_EQ(r.records[0].retries, 1);
  EXPECT_EQ(r.records[0].first_token, ms(130 + 26));
  EXPECT_EQ(r.records[0].transfer, ms(16));
  EXPECT_EQ(r.records[0].finished, ms(130 + 62));
  EXPECT_EQ(r.transfers, 2);
  EXPECT_EQ(r.gaps.count(), 2);
}

TEST(DisaggregatedFailures, AnEngineThatPrefillsDoesNotTakeDownWhatItSent) {
  const SimulationResult r = run(failing({0.043}), {request_at({}, 16, 3)});
  EXPECT_EQ(r.failures, 1);
  EXPECT_EQ(r.records[0].retries, 0);
  EXPECT_EQ(r.records[0].finished, ms(62));
}

// The k-th time is that of the k-th engine, and the one that prefills is the first.
TEST(DisaggregatedFailures, ADecodeBeginsAgainFromItsPrompt) {
  const SimulationResult r = run(failing({1.0, 0.05}), {request_at({}, 16, 3)});
  EXPECT_EQ(r.records[0].retries, 1);
  EXPECT_EQ(r.records[0].first_token, ms(50 + 26));
  // The prompt waits for an engine that decodes until 150.
  EXPECT_EQ(r.records[0].transfer, ms(150 + 16 - 76));
  EXPECT_EQ(r.records[0].finished, ms(150 + 16 + 20));
  EXPECT_EQ(r.gaps.count(), 2);
}

TEST(DisaggregatedFailures, APromptOnItsWayGivesItsBlocksBack) {
  SimulationConfig c = failing({1.0, 0.03});
  c.replica.kv_blocks = 1;
  const SimulationResult r = run(c, {request_at({}, 16, 3)});
  EXPECT_EQ(r.records[0].first_token, ms(30 + 26));
  EXPECT_EQ(r.records[0].finished, ms(130 + 16 + 20));
}

TEST(DisaggregatedFailures, BothEnginesMayFail) {
  // The prompt of the second attempt waits from 76 on; its engine fails at 90, and is up at 190.
  const SimulationResult r = run(failing({0.09, 0.05}), {request_at({}, 16, 3)});
  EXPECT_EQ(r.records[0].retries, 2);
  EXPECT_EQ(r.records[0].finished, ms(190 + 62));
}

TEST(DisaggregatedFailures, WhatNeverCameIsNotCached) {
  SimulationConfig c = failing({0.03});
  c.replica.engine.scheduler.prefix_caching = c.others[0].replica.engine.scheduler.prefix_caching =
      true;
  const SimulationResult r = run(c, {request_at({}, 40, 3)});
  EXPECT_EQ(r.records[0].retries, 1);
  EXPECT_EQ(r.records[0].transfer, ms(40));  // the whole prompt
}

// The prompt is computed at 50 ms and has moved at 90. Its first two blocks are found at 95.
TEST(DisaggregatedFailures, ADecodeThatBeginsAgainFindsItsPrompt) {
  SimulationConfig c = failing({1.0, 0.095});
  c.replica.engine.scheduler.prefix_caching = true;
  const SimulationResult r = run(c, {request_at({}, 40, 9)});
  EXPECT_EQ(r.records[0].retries, 1);
  EXPECT_EQ(r.records[0].cached, 32);
  EXPECT_EQ(r.records[0].first_token, ms(95 + 10 + 8));
}

// Scarce memory on both sides: blocks that a failure left behind would end in a standstill.
TEST(DisaggregatedFailures, NoFailureLosesARequestOrABlock) {
  std::vector<Request> requests;
  for (int i = 0; i < 300; ++i) requests.push_back(request_at(ms(7 * i), 1 + i % 60, 1 + i % 37));
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    SimulationConfig c = disaggregated_service(2, 3);
    c.seed = seed;
    c.replica.kv_blocks = 5;
    c.others[0].replica.kv_blocks = 8;
    c.replica.engine.scheduler.async_scheduling =
        c.others[0].replica.engine.scheduler.async_scheduling = seed % 2 == 0;
    c.replica.engine.scheduler.prefix_caching =
        c.others[0].replica.engine.scheduler.prefix_caching = seed % 3 == 0;
    c.transfer.layerwise = seed % 2 == 0;
    c.failures.mean_time = milliseconds(900);
    c.failures.restart = milliseconds(130);
    const SimulationResult r = run(c, requests);
    EXPECT_GT(r.failures, 10);
    std::int64_t output = 0, retries = 0;
    for (const RequestRecord& q : r.records) {
      EXPECT_EQ(q.outcome, Outcome::kDone);
      EXPECT_GE(q.finished, q.first_token);
      output += q.output;
      retries += q.retries;
    }
    EXPECT_GT(retries, 10);
    EXPECT_GE(r.total().output_tokens, output);
  }
}

// The pool that prefills, then the pool that decodes.
Autoscale scaled(double target, std::int64_t most, double decode_target, std::int64_t decode_most) {
  Autoscale a;
  a.policy = "outstanding";
  a.target = target, a.decode_target = decode_target;
  a.most = most, a.decode_most = decode_most;
  a.interval = milliseconds(30);
  a.start_up = milliseconds(10);
  a.cool_down = milliseconds(0);
  return a;
}

TEST(DisaggregatedScaling, EachPoolGrowsWithItsOwnRequests) {
  SimulationConfig c = disaggregated_service();
  c.autoscale = scaled(100, 1, 2, 3);
  // All prompts are computed at 10 + 6 * 4 ms; six decodes want three engines at 60. Prompts that
  // come later decode on one of those.
  std::vector<Request> requests(6, request_at({}, 4, 30));
  requests.push_back(request_at(ms(100), 4, 30));
  const SimulationResult r = run(c, requests);
  EXPECT_EQ(r.pool_of, (std::vector<std::size_t>{0, 1, 1, 1}));
  EXPECT_EQ(r.starts, 2);
  EXPECT_EQ(r.most_engines, 4);
  EXPECT_EQ(r.records[0].replica, 1);
  EXPECT_EQ(r.records[6].replica, 2);
  EXPECT_EQ(r.engine_times[0], r.end.time());
  EXPECT_GT(r.engine_times[1], r.end.time());
  EXPECT_LT(r.engine_times[1], r.end.time() * 3.0);
}

// The second prompt is computed at 26 ms and leaves for the other pool from 52 to 68, when the
// first request has ended there. Its engine may go only then, though it has no requests at 30.
TEST(DisaggregatedScaling, AnEngineStaysUntilItsPromptsHaveLeft) {
  SimulationConfig c = disaggregated_service(2, 1);
  c.others[0].replica.kv_blocks = 2;
  c.autoscale = scaled(10, 2, 10, 1);
  const Request q = request_at({}, 16, 2);
  const SimulationResult r = run(c, {q, q});
  EXPECT_EQ(r.records[1].transfer, ms(52 - 26 + 16));
  EXPECT_EQ(r.end, ms(78));
  EXPECT_NEAR(r.engine_times[0].value(), 0.078 + 0.068, 1e-12);
}

TEST(DisaggregatedScaling, PoolsThatServeTogetherAreRefused) {
  SimulationConfig c = plain_service();
  c.others = {plain_service()};
  c.autoscale = scaled(1, 2, 1, 2);
  EXPECT_THROW(run(c, {request_at({}, 16, 2)}), InputError);
}

// The prompts are computed at 26 and 52 ms and have moved at 42 and 68. The first makes four more
// tokens until 82; the second can join the step from 72 on.
TEST(DisaggregatedTechniques, AnAdapterWithoutASlotWaits) {
  SimulationConfig c = disaggregated_service();
  Request first = request_at({}, 16, 5), second = request_at({}, 16, 3);
  first.adapter = 0;
  second.adapter = 1;
  c.others[0].replica.kv.adapter_slots = 2;
  EXPECT_EQ(run(c, {first, second}).records[1].finished, ms(92));
  c.others[0].replica.kv.adapter_slots = 1;
  const SimulationResult r = run(c, {first, second});
  EXPECT_EQ(r.records[0].finished, ms(82));
  EXPECT_EQ(r.records[1].finished, ms(102));
  EXPECT_EQ(r.of_pool(1).adapter_loads, 2);
}

// Memory of eight blocks: an adapter takes three, a prompt and its first tokens two.
TEST(DisaggregatedTechniques, AnAdapterInThePoolTakesItsBlocks) {
  SimulationConfig c = disaggregated_service();
  ReplicaConfig& d = c.others[0].replica;
  d.kv_blocks = 8;
  d.kv.adapter_blocks = 3;
  d.adapter_load = ms(5);
  Request first = request_at({}, 16, 3), second = request_at({}, 16, 3);
  first.adapter = 0;
  second.adapter = 1;
  const SimulationResult r = run(c, {first, second});
  // The five blocks of the second are not free until the first has ended at 42 + 5 + 20.
  EXPECT_EQ(r.records[0].finished, ms(67));
  EXPECT_EQ(r.records[1].transfer, ms(67 + 16 - 52));
  second.adapter = 0;  // which is there
  EXPECT_EQ(run(c, {first, second}).records[1].transfer, ms(16));
}

// The first token comes with the prompt, the second from a step without drafts, then two a step.
TEST(DisaggregatedTechniques, DraftsBeginWhereDecodesDo) {
  SimulationConfig c = disaggregated_service();
  for (ReplicaConfig* e : {&c.replica, &c.others[0].replica}) {
    e->speculation.drafts = 1;
    e->speculation.acceptance = {1};
  }
  const SimulationResult r = run(c, {request_at({}, 16, 6)});
  EXPECT_EQ(r.records[0].first_token, ms(26));
  EXPECT_EQ(r.records[0].finished, ms(42 + 30));
  EXPECT_EQ(r.of_pool(0).verifications, 0);
  EXPECT_EQ(r.of_pool(1).verifications, 2);
}

}  // namespace disaggregated_fleet_test
}  // namespace orrery
