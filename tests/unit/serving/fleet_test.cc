// Elastic fleets, failures, pools that differ.
#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/error.h"
#include "orrery/serving/cluster/simulation.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace fleet_test {

SimulationResult run(const SimulationConfig& config, std::vector<Request> requests) {
  PlainTimer timer;
  return simulate(config, load_of(std::move(requests)), timer);
}

SimulationConfig elastic() {
  SimulationConfig c = plain_service();
  c.router = "least-outstanding";
  c.replica.plan.tp = 2;
  c.autoscale.policy = "outstanding";
  c.autoscale.target = 1;
  c.autoscale.most = 3;
  c.autoscale.interval = milliseconds(100);
  c.autoscale.start_up = milliseconds(50);
  c.autoscale.cool_down = milliseconds(400);
  return c;
}

TEST(Fleet, GrowsWithItsLoadAndShrinksAgain) {
  // Two requests of 25 steps of 10 ms (and a step of 11) from 0 on: at 100 ms a second engine is
  // asked for, at 150 it takes requests.
  const Request q = request_at({}, 1, 26);
  Request probe = request_at(ms(149), 1, 2);
  Request probe2 = request_at(ms(151), 1, 100);
  const SimulationResult r = run(elastic(), {q, q, probe, probe2});
  EXPECT_EQ(r.records[2].replica, 0);
  EXPECT_EQ(r.records[3].replica, 1);
  EXPECT_EQ(r.most_engines, 3);  // at 200 three are unfinished
  EXPECT_EQ(r.starts, 2);
}

TEST(Fleet, CountsTheTimeOfEnginesThatAreNotOff) {
  SimulationConfig c = elastic();
  // Two until 272 ms, then one more at 2000 ms that ends at 2011.
  const Request q = request_at({}, 1, 26);
  const SimulationResult r = run(c, {q, q, request_at(ms(2000), 1, 1)});
  // The second engine is asked for at 100 and dropped at the first tick at least 400 ms later with
  // one request or none: 500.
  EXPECT_EQ(r.end, ms(2011));
  EXPECT_NEAR(r.engine_time().value(), 2.011 + 0.4, 1e-9);
  EXPECT_NEAR(r.gpu_time.value(), 2 * r.engine_time().value(), 1e-9);
}

TEST(Fleet, AnEngineThatIsToGoEndsItsRequestsFirst) {
  SimulationConfig c = elastic();
  c.autoscale.policy = "queue";
  c.autoscale.least = 1;
  c.replicas = 3;
  const Request q = request_at({}, 1, 60);  // to 600 ms
  const SimulationResult r = run(c, {q, q, q, request_at(ms(301), 1, 2)});
  for (const RequestRecord& x : r.records) EXPECT_EQ(x.outcome, Outcome::kDone);
  // At 100 the third takes no more, at 500 the second; each goes off when it is done at 601. The
  // first has a prompt token more.
  EXPECT_EQ(r.records[3].replica, 0);
  EXPECT_NEAR(r.engine_time().value(), 2 * 0.601 + 0.602, 1e-9);
}

TEST(Fleet, WhatCannotBeIsRefused) {
  const auto refused = [](auto change) {
    SimulationConfig c = elastic();
    change(c);
    EXPECT_THROW(run(c, {}), InputError);
  };
  refused([](SimulationConfig& c) { c.autoscale.most = 0; });
  refused([](SimulationConfig& c) { c.autoscale.target = 0; });
  refused([](SimulationConfig& c) { c.autoscale.interval = {}; });
  refused([](SimulationConfig& c) { c.others = {plain_service()}; });
}

TEST(Fleet, PoliciesByHand) {
  const auto wanted = [](const char* policy, double target, const FleetLoad& load) {
    Autoscale a;
    a.policy = policy;
    a.target = target;
    return make_autoscaler(a)->wanted(load);
  };
  EXPECT_EQ(wanted("outstanding", 8, {2, 17, 0, 0}), 3);
  EXPECT_EQ(wanted("outstanding", 8, {2, 16, 0, 0}), 2);
  EXPECT_EQ(wanted("kv-use", 0.5, {4, 0, 0, 0.75}), 6);
  EXPECT_EQ(wanted("queue", 2, {4, 0, 9, 0}), 5);
  EXPECT_EQ(wanted("queue", 2, {4, 0, 8, 0}), 4);
  EXPECT_EQ(wanted("queue", 2, {4, 20, 0, 0}), 3);
}

TEST(Fleet, RequestsOfAFailedEngineStartAgain) {
  std::vector<Request> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(request_at(ms(20 * i), 5, 10));
  SimulationConfig c = plain_service();
  c.replicas = 2;
  c.failures.mean_time = milliseconds(700);
  c.failures.restart = milliseconds(300);
  const SimulationResult r = run(c, requests), again = run(c, requests);
  std::int64_t retries = 0, output = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestRecord& q = r.records[i];
    ASSERT_EQ(q.outcome, Outcome::kDone);
    EXPECT_LT(q.first_token, q.finished);
    EXPECT_EQ(q.finished, again.records[i].finished);
    retries += q.retries;
    output += q.output;
  }
  EXPECT_GT(r.failures, 2);
  EXPECT_GE(retries, r.failures / 2);
  // Tokens of lost attempts are made again.
  EXPECT_GT(r.total().output_tokens, output);
}

TEST(Fleet, WithoutAnEngineRequestsWaitForTheRestart) {
  SimulationConfig c = plain_service();
  c.failures.mean_time = milliseconds(100);
  c.failures.restart = milliseconds(1000);
  c.seed = 1;
  // 300 ms of work: an engine that fails every 100 ms on average ends it after some attempts.
  const SimulationResult r = run(c, {request_at({}, 5, 30)});
  const RequestRecord& q = r.records[0];
  EXPECT_EQ(q.outcome, Outcome::kDone);
  EXPECT_EQ(q.retries, r.failures);
  ASSERT_GT(q.retries, 0);
  EXPECT_GE(q.finished, ms(1000 * q.retries + 305));
  EXPECT_EQ(q.finished - q.first_token, ms(290));
}

TEST(Fleet, FailuresThatLetNoRequestEndAreInfeasible) {
  SimulationConfig c = plain_service();
  c.failures.mean_time = milliseconds(1);  // 300 ms of work
  c.failures.restart = milliseconds(1);
  EXPECT_THROW(run(c, {request_at({}, 5, 30)}), Infeasible);
}

// Once in 300 days, on average: in 4 days of each of 1000 engines 13 failures.
TEST(Fleet, MeanTimesBeyondSimulatedTimeAreTakenAsTheyAre) {
  SimulationConfig c = plain_service();
  c.replicas = 1000;
  c.failures.mean_time = Seconds(300 * 86400.0);
  const SimulationResult r =
      run(c, {request_at({}, 5, 30), request_at(sim_seconds(4 * 86400.0), 5, 30)});
  EXPECT_GT(r.failures, 5);
  EXPECT_LT(r.failures, 25);
}

TEST(Fleet, TimesBeyondSimulatedTimeAreRefused) {
  EXPECT_THROW(sim_seconds(1e9), InputError);
  EXPECT_THROW(sim_seconds(std::numeric_limits<double>::quiet_NaN()), InputError);
  EXPECT_THROW(sim_seconds(9e6) + sim_seconds(9e5), InputError);
  EXPECT_THROW(sim_seconds(1) * 10'000'000, InputError);
  SimulationConfig c = plain_service();
  c.replica.engine.execution.request_overhead = Seconds(9e6);
  EXPECT_THROW(run(c, {request_at(sim_seconds(9e5), 5, 30)}), InputError);
}

TEST(Fleet, FailuresAtGivenTimes) {
  SimulationConfig c = plain_service();
  c.replicas = 2;
  c.failures.at = {0.02};
  c.failures.restart = milliseconds(50);
  // Both have a prompt until 15. The first engine's request begins again on the second, joining the
  // step from 25 on, which ends at 40; a later request finds the first one up again.
  const Request q = request_at({}, 5, 4);
  const SimulationResult r =
      run(c, {q, q, request_at(ms(69), 5, 1), request_at(ms(71), 5, 1), request_at(ms(72), 5, 1)});
  EXPECT_EQ(r.failures, 1);
  EXPECT_EQ(r.records[0].retries, 1);
  EXPECT_EQ(r.records[0].replica, 1);
  EXPECT_EQ(r.records[0].scheduled, ms(25));
  EXPECT_EQ(r.records[0].first_token, ms(40));
  EXPECT_EQ(r.records[0].finished, ms(70));
  EXPECT_EQ(r.records[1].finished, ms(50));
  EXPECT_EQ(r.records[2].replica, 1);
  EXPECT_EQ(r.records[3].replica + r.records[4].replica, 1);
}

// The same for a sequence that is evicted while a pipeline stage computes a token of it: memory for
// 64 tokens, and four sequences that grow to 40.
TEST(Fleet, AFailureAtAnyTimeLosesNoRequest) {
  SimulationConfig c = plain_service();
  c.replica.kv_blocks = 64;
  c.replica.engine.memory.block_size = 1;
  c.replica.plan.pp = 2;
  c.failures.restart = milliseconds(5);
  const std::vector<Request> four(4, request_at({}, 10, 31));
  for (std::int64_t at = 1; at < 1000; at += 7) {
    c.failures.at = {1e-3 * static_cast<double>(at)};
    PlainTimer timer;
    timer.stages = 2;
    const SimulationResult r = simulate(c, load_of(four), timer);
    EXPECT_GT(r.total().evictions, 0);
    for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kDone) << at;
  }
}

TEST(Pools, ARequestGoesWhereItFits) {
  SimulationConfig c = plain_service();
  c.replica.kv_blocks = 2;
  PoolConfig large = plain_service();
  c.others = {large};
  const Request small = request_at({}, 5, 2), big = request_at({}, 100, 2);
  const SimulationResult r = run(c, {small, small, big, big});
  EXPECT_EQ(r.records[0].replica, 0);
  EXPECT_EQ(r.records[1].replica, 1);
  EXPECT_EQ(r.records[2].replica, 1);
  EXPECT_EQ(r.records[3].replica, 1);
}

TEST(Pools, EachHasItsOwnSpeed) {
  SimulationConfig c = plain_service();
  c.others = {plain_service()};
  PlainTimer fast;
  class Slow : public PlainTimer {
   public:
    SimTime time(const StepShape& s) override { return {2 * PlainTimer::time(s).ps}; }
  } slow;
  StepTimer* timers[] = {&fast, &slow};
  const Request q = request_at({}, 5, 1);
  const SimulationResult r = simulate(c, load_of({q, q}), timers);
  EXPECT_EQ(r.records[0].finished, ms(15));
  EXPECT_EQ(r.records[1].finished, ms(30));
  EXPECT_EQ(r.replicas.size(), 2u);
}

}  // namespace fleet_test
}  // namespace orrery
