// Scenarios of scenarios/suite45 about services under load: the suite's checks.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/scenario/runner.h"

namespace orrery {
namespace {

Scenario scenario(const std::string& id) {
  return read_scenario(
      std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios/suite45/" + id + ".yaml"));
}

Point point_of(const Scenario& s, const RunOptions& options = {}) {
  static Runner runner{Bundle()};
  return runner.run(s, options).points.at(0);
}
Point point_of(const std::string& id) {
  RunOptions options;
  options.intervals = false;
  return point_of(scenario(id), options);
}

double value(const Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  EXPECT_NE(m, nullptr) << metric;
  return m ? m->value : 0;
}

TEST(SuiteServing, I2_1TailsAreShortFarBelowSaturation) {
  const Point calm = point_of("I2.1"), full = point_of("I2.3");
  const auto tail = [](const Point& p) { return value(p, "e2e_p99") / value(p, "e2e_p50"); };
  EXPECT_LT(tail(calm), 2);
  EXPECT_LT(value(calm, "queue_p99"), 100);
  // Beyond saturation the queue grows all the time, and waiting is most of a request's life.
  EXPECT_GT(value(full, "queue_p50"), value(calm, "e2e_p99"));
  EXPECT_GT(value(full, "ttft_p99") / value(full, "ttft_p50"), 1.5);
}

TEST(SuiteServing, I2_2ThroughputFollowsTheLoad) {
  const Point p = point_of("I2.2");
  // A thousand Poisson arrivals spread by 3 %, and the last request's time counts.
  EXPECT_NEAR(value(p, "output_throughput"), 10 * 128, 0.1 * 1280);
}

TEST(SuiteServing, I2_3TheSaturationRateIsFound) {
  Scenario s = scenario("I2.3");
  RunOptions options;
  options.intervals = false;
  options.find_max_rate = true;
  const double rate = value(point_of(s, options), "max_rate");
  options.find_max_rate = false;
  const auto attained = [&](double at) {
    s.service.rate = {at};
    return value(point_of(s, options), "ttft_p99");
  };
  EXPECT_LT(attained(rate), 1000);
  EXPECT_GT(attained(1.03 * rate), 1000);
  // Sustained with two thousand requests; 50 a second are not.
  EXPECT_GT(rate, 10);
  EXPECT_LT(rate, 50);
}

TEST(SuiteServing, I2_4ContinuousBatchingBeatsStaticBatches) {
  const double gain = value(point_of("I2.4"), "output_throughput") /
                      value(point_of("I2.4-static"), "output_throughput");
  EXPECT_GE(gain, 1.8);
  EXPECT_LE(gain, 6);
}

TEST(SuiteServing, I2_5ChunksShortenTheLongestGaps) {
  EXPECT_LT(value(point_of("I2.5"), "itl_p99"), 0.8 * value(point_of("I2.5-whole"), "itl_p99"));
}

TEST(SuiteServing, I2_6UtilisationGrowsWithTheRate) {
  Scenario s = scenario("I2.6");
  RunOptions options;
  options.intervals = false;
  const Point p = point_of(s, options);
  s.service.rate = {0.5};
  const Point tenth = point_of(s, options);
  // A step never takes less than reading 34.5 GB at 2.039 TB/s; 128 tokens each on average.
  EXPECT_GT(value(p, "e2e"), 128 * 16.9);
  EXPECT_LT(value(p, "busy"), 100);
  // At 0.5 a second requests overlap little: each keeps the engine busy for most of its own time.
  EXPECT_NEAR(value(tenth, "busy"), 100 * (1 - std::exp(-0.5e-3 * value(tenth, "e2e"))), 5);
  EXPECT_GT(value(p, "busy"), 1.2 * value(tenth, "busy"));
  EXPECT_GT(value(p, "running"), 5 * value(tenth, "running"));
}

TEST(SuiteServing, I3_4ThroughputGrowsUntilMemoryIsFull) {
  Scenario s = scenario("I3.4");
  RunOptions options;
  options.intervals = false;
  double last = 0;
  for (const char* seqs : {"1", "2", "4", "8", "16", "32", "64", "128", "256"}) {
    set_path(s.engine.overrides, "scheduler.max_num_seqs", scalar_node(seqs, "test"));
    s.service.requests = std::min(512, 8 * std::atoi(seqs));
    const Point p = point_of(s, options);
    const double throughput = value(p, "output_throughput");
    if (value(p, "evictions") == 0) {
      EXPECT_GT(throughput, last) << seqs;
    }
    last = throughput;
  }
}

}  // namespace
}  // namespace orrery
