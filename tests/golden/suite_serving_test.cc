// Changes of the scenarios of scenarios/suite45 about services under load. The suite checks the
// unchanged scenarios.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace suite_serving_test {

Scenario scenario(const std::string& id) {
  return read_scenario(all_kinds(), std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios/suite45/" +
                                                          id + ".yaml"))
      .points.at(0);
}

Point point_of(const Scenario& s, const RunOptions& options = {}) {
  static Runner runner{Bundle()};
  return runner.run(s, options).points.at(0);
}

double value(const Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  EXPECT_NE(m, nullptr) << metric;
  return m ? m->value : 0;
}

TEST(SuiteServing, I2_3TheSaturationRateIsFound) {
  Scenario s = scenario("I2.3");
  RunOptions options;
  options.intervals = false;
  s.ask<ServiceQuestion>().find_max_rate = true;
  const Point found = point_of(s, options);
  const double rate = value(found, "max_rate");
  s.ask<ServiceQuestion>().find_max_rate = false;
  s.ask<ServiceQuestion>().requests =
      std::llround(value(found, "requests"));  // of the load that gave the rate
  const auto attained = [&](double at) {
    s.ask<ServiceQuestion>().rate = at;
    return value(point_of(s, options), "ttft_p99");
  };
  EXPECT_LT(attained(rate), 1000);
  EXPECT_GT(attained(1.03 * rate), 1000);
  // 10 a second are sustained; 50 a second are not.
  EXPECT_GT(rate, 10);
  EXPECT_LT(rate, 50);
}

TEST(SuiteServing, I2_6UtilisationGrowsWithTheRate) {
  Scenario s = scenario("I2.6");
  RunOptions options;
  options.intervals = false;
  const Point p = point_of(s, options);
  s.ask<ServiceQuestion>().rate = 0.5;
  const Point tenth = point_of(s, options);
  // A step never takes less than reading 34.5 GB at 2.039 TB/s; 128 tokens each on average.
  EXPECT_GT(value(p, "e2e"), 128 * 16.9);
  EXPECT_LT(value(p, "busy"), 100);
  // At 0.5 a second requests overlap little: each keeps the engine busy for most of its own time.
  EXPECT_NEAR(value(tenth, "busy"), 100 * (1 - std::exp(-0.5e-3 * value(tenth, "e2e"))), 5);
  EXPECT_GT(value(p, "busy"), 1.2 * value(tenth, "busy"));
  EXPECT_GT(value(p, "running"), 5 * value(tenth, "running"));
}

}  // namespace suite_serving_test
}  // namespace orrery
