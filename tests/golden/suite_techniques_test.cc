// Changes of the scenarios of both suites about serving techniques. The suites check the unchanged
// scenarios.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace suite_techniques_test {

Runner& runner() {
  static Runner r{Bundle()};
  return r;
}

Scenario scenario(const std::string& path) {
  return read_scenario(all_kinds(),
                       std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios/" + path + ".yaml"))
      .points.at(0);
}

Answer answer(const Scenario& s) {
  RunOptions options;
  options.intervals = false;
  return runner().run(s, options);
}

// NaN fails every bound.
double value(const Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  EXPECT_NE(m, nullptr) << metric;
  return m ? m->value : NAN;
}

void expect_between(double v, double least, double most) {
  EXPECT_GE(v, least);
  EXPECT_LE(v, most);
}

TEST(SuiteTechniques, I5_1BetterDraftsAreFaster) {
  Scenario s = scenario("suite45/I5.1");
  s.ask<ServiceQuestion>().speculation.tokens = 4;  // P-I5.1
  s.ask<ServiceQuestion>().speculation.acceptance = {0.7};
  const double some = value(answer(s).points.at(0), "speedup");
  s.ask<ServiceQuestion>().speculation.acceptance = {0.85};
  EXPECT_GT(value(answer(s).points.at(0), "speedup"), 1.15 * some);
}

TEST(SuiteTechniques, P_I4_1TwoModelsOnOneGpu) {
  Scenario s = scenario("suite28/P-I4.1");
  const Point mps = answer(s).points.at(0);
  s.ask<ServiceQuestion>().neighbour.sharing = "time_slicing";
  const Point turns = answer(s).points.at(0);
  expect_between(value(mps, "tpot_overhead"), 5, 100);
  expect_between(value(mps, "neighbour_tpot_overhead"), 5, 100);
  EXPECT_GT(value(turns, "stretch"), value(mps, "stretch"));
  EXPECT_NEAR(mps.find("stretch")->high90, value(turns, "stretch"), 1e-9);
  // Each model has 0.45 of 85 GB. One has 13.5 GB of weights and 0.524 MB per token, the other 16.1
  // GB, 0.131 MB and more activations.
  expect_between(value(mps, "kv_tokens"), 0.36e5, 0.48e5);
  expect_between(value(mps, "neighbour_kv_tokens"), 1.3e5, 1.8e5);
  s.ask<ServiceQuestion>().neighbour.rate = 0.01;  // hardly ever there
  s.ask<ServiceQuestion>().neighbour.requests = 10;
  expect_between(value(answer(s).points.at(0), "tpot_overhead"), 0, 5);
  s.ask<ServiceQuestion>().neighbour.utilization = 0.6;
  EXPECT_THROW(answer(s), Infeasible);
}

}  // namespace suite_techniques_test
}  // namespace orrery
