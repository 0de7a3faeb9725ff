// Engines that do not influence each other, on small random cases: simulating them one by one, on
// any number of threads, gives the same result as one simulation of all events.
#include <gtest/gtest.h>

#include <tbb/global_control.h>

#include "orrery/serving/cluster/simulation.h"
#include "tests/law/serving_run.h"

namespace orrery::serving_run {
namespace {

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
