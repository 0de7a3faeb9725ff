// Engines that do not influence each other, on small random cases: simulating them one by one, on
// any number of threads, gives the same result as one simulation of all events.
#include <gtest/gtest.h>

#include <tbb/global_control.h>

#include "orrery/serving/cluster/simulation.h"
#include "tests/law/serving_run.h"

namespace orrery::serving_run {
namespace independent_engines_law_test {

TEST(IndependentEngines, AreWhatTheEventsOfAllEnginesTogetherGiveOnAnyNumberOfThreads) {
  std::int64_t several = 0, turned_away = 0, evictions = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Service s = random_service(seed);
    PlainTimer alone(true), many(false);
    const SimulationResult at_once = simulate(s.config, s.load, alone);
    for (const std::size_t threads : {1, 4}) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      ASSERT_NO_FATAL_FAILURE(expect_same(at_once, simulate(s.config, s.load, many), seed));
    }
    several += at_once.replicas.size() > 1;
    evictions += at_once.total().evictions;
    for (const RequestRecord& r : at_once.records) turned_away += r.outcome != Outcome::kDone;
  }
  // The cases must contain the situations that the test is for.
  EXPECT_GT(several, 250);
  EXPECT_GT(turned_away, 100);
  EXPECT_GT(evictions, 100);
}

// ---- spans: passing decode steps at once gives the same result, to the byte, as taking every step
// by itself, which a log of the steps asks for ----

// Fills as many times as it is asked for, and counts the steps that were asked for in spans.
class SpanTimer : public StepTimer {
 public:
  SimTime time(const StepShape& step) override { return {step_ps(step) + 7 * step.wave_tokens}; }
  std::size_t decode_times(std::int64_t sequences, std::int64_t past,
                           std::span<SimTime> times) override {
    for (SimTime& t : times) {
      StepShape step;
      step.decodes = sequences;
      step.decode_past = past;
      t = time(step);
      past += sequences;
    }
    asked += static_cast<std::int64_t>(times.size());
    return times.size();
  }

  std::int64_t asked = 0;
};

using Draw = std::mt19937_64;

std::int32_t draw(Draw& random, int least, int most) {
  return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
}

// Engines that prefill, and one or two that decode.
void take_apart(SimulationConfig& c, Draw& random) {
  c.replica.role = Role::kPrefill;
  PoolConfig d = c;
  d.replica.role = Role::kDecode;
  d.replicas = draw(random, 1, 2);
  c.others = {d};
  c.transfer.time = [](std::int64_t tokens) { return SimTime{1'000 + 300 * tokens}; };
  c.transfer.layers = 4;
}

// The service of the seed, often with a technique that changes how steps follow each other.
Service service(std::uint64_t seed) {
  Service s = random_service(seed);
  Draw random(seed + 1'000'000);
  SimulationConfig& c = s.config;
  // Most cases can have spans: the scheduler has decode groups, and an engine one rank and stage.
  if (draw(random, 0, 3) > 0) {
    c.replica.engine.scheduler.policy = "vllm";
    c.replica.plan.pp = c.replica.plan.dp = 1;
    c.replica.speculation = {};
    if (draw(random, 0, 1) == 0) c.replica.engine.memory.block_size = 16;
    c.others.clear();
  }
  if (draw(random, 0, 1) == 0) c.replicas = 1;
  if (draw(random, 0, 2) == 0) c.router = "least-outstanding";
  if (draw(random, 0, 3) == 0) c.max_concurrency = draw(random, 1, 12);
  if (draw(random, 0, 3) == 0)
    c.replica.engine.execution.frontend_per_token = picoseconds(draw(random, 1, 60'000));
  if (draw(random, 0, 4) == 0) {
    c.failures.at = {picoseconds(draw(random, 0, 3'000'000)).value(),
                     picoseconds(draw(random, 0, 9'000'000)).value()};
    c.failures.restart = picoseconds(draw(random, 1, 1'000'000));
  }
  switch (draw(random, 0, 6)) {
    case 0:
      take_apart(c, random);
      break;
    case 1:
      c.replica.kv.adapter_slots = draw(random, 1, 2);
      c.replica.adapter_load = {50'000};
      for (Request& r : s.load.requests) r.adapter = draw(random, -1, 2);
      break;
    case 2:
      c.others.clear();
      c.autoscale.policy = "outstanding";
      c.autoscale.target = 4;
      c.autoscale.most = 3;
      c.autoscale.interval = picoseconds(500'000);
      c.autoscale.start_up = picoseconds(300'000);
      c.autoscale.cool_down = picoseconds(1'000'000);
      c.replicas = 1;
      break;
    case 3:
      s.load.names_outputs = true;
      break;
    default:
      break;
  }
  return s;
}

TEST(DecodeSpans, AreTheStepsThatTheyPass) {
  std::int64_t in_spans = 0, steps = 0, evictions = 0, transfers = 0, failures = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Service s = service(seed);
    SpanTimer timer, step_by_step;
    const SimulationResult spans = simulate(s.config, s.load, timer);
    SimulationConfig logged = s.config;
    StepLog log;
    logged.steps = &log;
    ASSERT_NO_FATAL_FAILURE(expect_same(simulate(logged, s.load, step_by_step), spans, seed));
    ASSERT_EQ(step_by_step.asked, 0);
    in_spans += timer.asked;
    steps += static_cast<std::int64_t>(log.size());
    evictions += spans.total().evictions;
    transfers += spans.transfers;
    failures += spans.failures;
  }
  // The cases must contain the situations that the test is for.
  EXPECT_GT(10 * in_spans, steps);
  EXPECT_GT(evictions, 1000);
  EXPECT_GT(transfers, 1000);
  EXPECT_GT(failures, 100);
}

}  // namespace independent_engines_law_test
}  // namespace orrery::serving_run
