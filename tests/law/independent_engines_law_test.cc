// Engines that do not influence each other, on small random cases: simulating them one by one, on
// any number of threads, gives the same result as one simulation of all events.
#include <gtest/gtest.h>

#include <tbb/global_control.h>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/schedulers/scheduler.h"
#include "tests/law/serving_run.h"

namespace orrery::serving_run {
namespace {

// Engines are simulated independently where timers can be multiplied.
class PlainTimer : public StepTimer {
 public:
  explicit PlainTimer(bool alone) : alone_(alone) {}
  SimTime time(const StepShape& step) override { return {step_ps(step) + 7 * step.wave_tokens}; }
  SimTime latency(const StepShape& step) override { return {3 * time(step).ps}; }
  std::unique_ptr<StepTimer> another() const override {
    return alone_ ? nullptr : std::make_unique<PlainTimer>(false);
  }

 private:
  bool alone_;
};

struct Service {
  SimulationConfig config;
  RequestLoad load;
};

Service random_service(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int least, int most) {
    return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto scheduler = [&] {
    const auto& kinds = scheduler_kinds();
    return std::string(kinds[static_cast<std::size_t>(draw(0, 100)) % kinds.size()].name);
  };
  Service s;
  Case c = random_case(random, scheduler());
  const int requests = draw(1, 120), spread = draw(1, 400'000);
  std::int64_t now = c.load.requests.back().arrival.ps;
  for (int i = 0; i < requests; ++i) {
    Request r;
    r.arrival = {now += draw(0, 2) == 0 ? 0 : draw(0, spread)};
    r.input = draw(1, 90);
    r.output = draw(1, 40);
    r.session = draw(-1, 9);
    c.load.requests.push_back(r);
  }
  s.load = c.load;
  s.config.replica = c.config;
  s.config.scheduler = c.scheduler;
  s.config.replicas = draw(1, 5);
  s.config.gpus = draw(1, 4);
  s.config.seed = seed;
  constexpr const char* kBlind[] = {"round-robin", "random", "session"};
  s.config.router = kBlind[draw(0, 2)];
  s.config.router_refresh = {draw(0, 1) * 1'000'000};
  s.config.window = {1 + 10 * static_cast<std::int64_t>(seed)};
  s.config.frontend_per_request = {draw(0, 1) * draw(0, 100'000)};
  s.config.request_overhead = {draw(0, 1) * draw(0, 1'000'000)};
  s.config.overhead_per_prompt_token = {draw(0, 1) * draw(0, 10'000)};
  if (draw(0, 3) == 0) s.config.replica.limits.max_model_len = 100;
  if (draw(0, 2) == 0) {
    s.config.replica.async = false;
    s.config.replica.stages = 2;
  } else if (draw(0, 2) == 0) {
    s.config.replica.ranks = draw(2, 3);
  } else if (draw(0, 2) == 0) {
    s.config.replica.speculation.drafts = draw(1, 4);
  }
  const int pools = draw(0, 3) == 0 ? draw(1, 2) : 0;
  for (int i = 0; i < pools; ++i) {
    PoolConfig other = s.config;
    other.scheduler = scheduler();
    other.replicas = draw(1, 3);
    other.replica.kv_blocks += draw(-20, 20);
    other.replica.kv_blocks = std::max<std::int64_t>(other.replica.kv_blocks, 1);
    s.config.others.push_back(other);
  }
  return s;
}

void expect_same(const SimulationResult& a, const SimulationResult& b, std::uint64_t seed) {
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i)
    ASSERT_TRUE(a.records[i] == b.records[i]) << "seed " << seed << ", request " << i;
  ASSERT_EQ(a.replicas.size(), b.replicas.size());
  for (std::size_t i = 0; i < a.replicas.size(); ++i)
    ASSERT_TRUE(a.replicas[i] == b.replicas[i]) << "seed " << seed << ", engine " << i;
  ASSERT_TRUE(a.gaps == b.gaps) << "seed " << seed;
  ASSERT_EQ(a.end, b.end) << "seed " << seed;
  ASSERT_EQ(a.engine_time(), b.engine_time()) << "seed " << seed;
  ASSERT_EQ(a.gpu_time, b.gpu_time) << "seed " << seed;
  ASSERT_EQ(a.most_engines, b.most_engines) << "seed " << seed;
  ASSERT_TRUE(a.windows == b.windows) << "seed " << seed;
}

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

}  // namespace
}  // namespace orrery::serving_run
