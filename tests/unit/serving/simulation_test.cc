#include "orrery/serving/cluster/simulation.h"

#include <gtest/gtest.h>

#include <tuple>

#include "orrery/base/error.h"
#include "orrery/serving/requests/load.h"
#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace simulation_test {

SimulationResult run(const SimulationConfig& config, const RequestLoad& load) {
  PlainTimer timer;
  return simulate(config, load, timer);
}

TEST(Simulation, OneRequestByHand) {
  const SimulationResult r = run(plain_service(), load_of({request_at(ms(100), 5, 3)}));
  const RequestRecord& q = r.records.at(0);
  EXPECT_EQ(q.outcome, Outcome::kDone);
  EXPECT_EQ(q.scheduled, ms(100));
  EXPECT_EQ(q.first_token, ms(115));  // 10 ms and 5 prompt tokens
  EXPECT_EQ(q.finished, ms(135));     // two steps of 10 ms
  EXPECT_DOUBLE_EQ(q.tpot().value(), 0.010);
  EXPECT_EQ(r.gaps.count(), 2);
  EXPECT_EQ(r.end, ms(135));
  const ReplicaCounts sum = r.total();
  EXPECT_EQ(sum.steps, 3);
  EXPECT_EQ(sum.decode_steps, 2);
  EXPECT_EQ(sum.prompt_tokens, 5);
  EXPECT_EQ(sum.output_tokens, 3);
  EXPECT_DOUBLE_EQ(sum.busy.value(), 0.035);
}

TEST(Simulation, EveryStepIsLogged) {
  SimulationConfig c = plain_service();
  c.replicas = 2;
  StepLog log;
  c.steps = &log;
  RequestLoad load;
  for (int i = 0; i < 40; ++i) load.requests.push_back(request_at(ms(7 * i), 5 + i, 3 + i % 5));
  const SimulationResult r = run(c, load);
  SimTime last[2];
  std::int64_t tokens[2] = {0, 0}, prompt_tokens[2] = {0, 0};
  for (const StepRecord& s : log) {
    ASSERT_LT(s.engine, 2u);
    EXPECT_GE(s.start, last[s.engine]);  // one after the other
    EXPECT_GT(s.end, s.start);
    EXPECT_GT(s.running, 0);
    last[s.engine] = s.end;
    tokens[s.engine] += s.decodes + s.prompts;  // no prompt is cut here
    prompt_tokens[s.engine] += s.prompt_tokens;
  }
  EXPECT_EQ(static_cast<std::int64_t>(log.size()), r.total().steps);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tokens[i], r.replicas[i].output_tokens);
    EXPECT_EQ(prompt_tokens[i], r.replicas[i].prompt_tokens);
  }
}

TEST(Simulation, ARequestIsInTheQueueAfterTheOverhead) {
  SimulationConfig c = plain_service();
  c.replica.engine.execution.request_overhead = milliseconds(7);
  const RequestRecord q = run(c, load_of({request_at(ms(100), 5, 1)})).records.at(0);
  EXPECT_EQ(q.arrival, ms(100));
  EXPECT_EQ(q.queued, ms(107));
  EXPECT_EQ(q.first_token, ms(122));
}

TEST(Simulation, AnArrivalComesBeforeAStepThatEndsAtTheSameTime) {
  const RequestLoad load = load_of({request_at(ms(0), 5, 2), request_at(ms(15), 5, 1)});
  const SimulationResult r = run(plain_service(), load);
  EXPECT_EQ(r.records[1].scheduled, ms(15));
  EXPECT_EQ(r.records[1].first_token, ms(30));
  EXPECT_EQ(r.records[0].finished, ms(30));  // decodes in the same step
}

TEST(Simulation, AsynchronousEnginesPlanOneStepAhead) {
  SimulationConfig c = plain_service();
  c.replica.engine.scheduler.async_scheduling = true;
  // The decode step after the first one is planned at 0; the newcomer joins the third, planned when
  // the second starts.
  const RequestLoad load = load_of({request_at(ms(0), 5, 3), request_at(ms(14), 5, 1)});
  const SimulationResult r = run(c, load);
  EXPECT_EQ(r.records[1].scheduled, ms(15));
  EXPECT_EQ(r.records[1].first_token, ms(40));
  EXPECT_EQ(r.records[0].finished, ms(40));
}

TEST(Simulation, ClosedLoopSendsWhenOneEnds) {
  SimulationConfig c = plain_service();
  c.max_concurrency = 1;
  const Request r = request_at(ms(0), 5, 2);  // 15 + 10 ms
  Request late = r;
  late.arrival = ms(200);
  const SimulationResult s = run(c, load_of({r, r, r, late}));
  EXPECT_EQ(s.records[1].arrival, ms(25));
  EXPECT_EQ(s.records[2].arrival, ms(50));
  EXPECT_EQ(s.records[2].finished, ms(75));
  EXPECT_EQ(s.records[3].arrival, ms(200));
}

TEST(Simulation, RequestsThatCanNeverRunAreTurnedAway) {
  SimulationConfig c = plain_service();
  c.replica.kv_blocks = 2;  // 32 tokens
  c.replica.kv.max_model_len = 40;
  const SimulationResult r = run(
      c, load_of({request_at(ms(0), 31, 2),  // the last token is never cached
                  request_at(ms(0), 31, 3), request_at(ms(0), 31, 10), request_at(ms(1), 1, 1)}));
  EXPECT_EQ(r.records[0].outcome, Outcome::kDone);
  EXPECT_EQ(r.records[1].outcome, Outcome::kNeverFits);
  EXPECT_EQ(r.records[2].outcome, Outcome::kTooLong);
  EXPECT_EQ(r.records[3].outcome, Outcome::kDone);
}

TEST(Simulation, OnlyRejectionsEndAtOnce) {
  SimulationConfig c = plain_service();
  c.replica.kv.max_model_len = 10;
  c.max_concurrency = 1;
  const SimulationResult r = run(c, load_of({request_at(ms(0), 31, 2), request_at(ms(5), 31, 3)}));
  EXPECT_EQ(r.end, SimTime{});
  EXPECT_EQ(r.total().steps, 0);
}

TEST(Simulation, WhatCannotBeIsRefused) {
  const RequestLoad load = load_of({request_at(ms(5), 1, 1), request_at(ms(4), 1, 1)});
  EXPECT_THROW(run(plain_service(), load), InputError);
  const auto refused = [](auto change) {
    SimulationConfig c = plain_service();
    change(c);
    EXPECT_THROW(run(c, load_of({})), InputError);
  };
  refused([](SimulationConfig& c) { c.replicas = 0; });
  refused([](SimulationConfig& c) { c.router = "round-rubin"; });
  refused([](SimulationConfig& c) { c.replica.engine.scheduler.policy = "vlm"; });
  refused([](SimulationConfig& c) { c.autoscale.policy = "magic"; });
  refused([](SimulationConfig& c) { c.replica.role = Role::kPrefill; });
}

// Every request ends once, with as many tokens as it asked for, after it was scheduled; prompts are
// computed once or more; the same input gives the same history.
TEST(Simulation, ConservesRequestsAndTokensAndIsDeterministic) {
  LoadSpec spec;
  spec.requests = 400;
  spec.parameters.rate = 40;
  spec.input = Lengths::parse("uniform(1, 60)");
  spec.output = Lengths::parse("uniform(1, 40)");
  const RequestLoad load = make_load(spec);
  for (const auto& [router, async, stages, ranks, blocks] : {std::tuple{"random", true, 1, 1, 20},
                                                             {"power-of-two", false, 1, 1, 1000},
                                                             {"least-outstanding", false, 3, 1, 20},
                                                             {"slo", true, 1, 2, 12},
                                                             {"prefix", true, 2, 2, 9}}) {
    SimulationConfig c = plain_service();
    c.replicas = 3;
    c.router = router;
    c.replica.engine.scheduler.async_scheduling = async;
    c.replica.plan.pp = stages;
    c.replica.plan.dp = ranks;
    c.replica.kv_blocks = blocks;
    c.replica.engine.scheduler.max_num_batched_tokens = 64;
    const SimulationResult r = run(c, load), again = run(c, load);
    std::int64_t prompt = 0, output = 0;
    for (std::size_t i = 0; i < r.records.size(); ++i) {
      const RequestRecord &q = r.records[i], &p = again.records[i];
      EXPECT_EQ(q.outcome, Outcome::kDone) << router;
      EXPECT_LE(q.arrival, q.scheduled);
      EXPECT_LT(q.scheduled, q.first_token);
      EXPECT_LE(q.first_token, q.finished);
      EXPECT_EQ(std::tie(q.scheduled, q.first_token, q.finished, q.replica),
                std::tie(p.scheduled, p.first_token, p.finished, p.replica));
      prompt += q.input;
      output += q.output;
    }
    EXPECT_EQ(r.total().output_tokens, output) << router;
    if (r.total().evictions == 0) {
      EXPECT_EQ(r.total().prompt_tokens, prompt) << router;
    } else {
      EXPECT_GE(r.total().prompt_tokens, prompt) << router;
    }
    EXPECT_EQ(r.gaps.count(), output - 400) << router;
  }
}

}  // namespace simulation_test
}  // namespace orrery
