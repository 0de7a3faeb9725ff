// Scenarios of both suites about serving techniques: the bounds are the suites'.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/scenario/runner.h"

namespace orrery {
namespace {

Runner& runner() {
  static Runner r{Bundle()};
  return r;
}

Scenario scenario(const std::string& path) {
  return read_scenario(std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios/" + path + ".yaml"));
}

Answer answer(const Scenario& s) {
  RunOptions options;
  options.intervals = false;
  return runner().run(s, options);
}

Point only_point(const std::string& path) { return answer(scenario(path)).points.at(0); }

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

TEST(SuiteTechniques, I3_2PagedAndContiguousWaste) {
  const Point paged = only_point("suite45/I3.2"),
              contiguous = only_point("suite45/I3.2-contiguous");
  EXPECT_LT(value(paged, "kv_waste"), 5);
  expect_between(value(contiguous, "kv_waste"), 40, 85);
  EXPECT_GT(value(paged, "running"), 2 * value(contiguous, "running"));
}

TEST(SuiteTechniques, I3_2ExtentsOfTheRequestAreStranded) {
  Scenario s = scenario("suite45/I3.2-contiguous");
  s.service.kv.reserve = "request";
  const Point p = answer(s).points.at(0);
  EXPECT_LT(value(p, "kv_waste"), value(only_point("suite45/I3.2-contiguous"), "kv_waste"));
  EXPECT_GT(value(p, "kv_stranded"), 0);
}

TEST(SuiteTechniques, I5_1SpeculativeDecoding) {
  const Point p = only_point("suite45/I5.1");
  EXPECT_NEAR(value(p, "accepted_length"), (1 - std::pow(0.7, 6)) / 0.3, 0.1);
  expect_between(value(p, "speedup"), 1.4, 2.3);
  EXPECT_LT(value(p, "speedup_p10"), value(p, "speedup_p90"));
}

TEST(SuiteTechniques, I5_1SpeedUpFallsWithTheBatch) {
  double last = 10;
  for (std::int64_t users : {1, 8, 32, 128}) {
    Scenario s = scenario("suite45/I5.1");
    s.service.max_concurrency = users;
    s.service.requests = 4 * users + 10;
    const double speedup = value(answer(s).points.at(0), "speedup");
    EXPECT_LT(speedup, last) << users;
    last = speedup;
  }
  EXPECT_LT(last, 1);  // drafts cost more than they bring
}

TEST(SuiteTechniques, I5_1BetterDraftsAreFaster) {
  Scenario s = scenario("suite45/I5.1");
  s.service.speculation.tokens = 4;  // P-I5.1
  s.service.speculation.acceptance = {0.7};
  const double some = value(answer(s).points.at(0), "speedup");
  s.service.speculation.acceptance = {0.85};
  EXPECT_GT(value(answer(s).points.at(0), "speedup"), 1.15 * some);
}

TEST(SuiteTechniques, I5_2WarmPrefixes) {
  const Point warm = only_point("suite45/I5.2"), cold = only_point("suite45/I5.2-cold");
  expect_between(value(warm, "ttft") / value(cold, "ttft"), 0.18, 0.40);
  EXPECT_NEAR(value(warm, "prefix_hits"), 100 * 4096.0 / 5120, 2);
  // 200 prefixes of 4,096 tokens are twice what fits.
  expect_between(value(only_point("suite45/I5.2-eviction"), "prefix_hits"), 10, 60);
}

TEST(SuiteTechniques, I5_5AdaptersCostAFewPercentAndSwitchingMore) {
  const Answer few = answer(scenario("suite45/I5.5"));
  Scenario s = scenario("suite45/I5.5");
  s.service.lora.slots = 0;
  const Answer all = answer(s);
  ASSERT_EQ(few.points.size(), 4u);
  // 80 MB over PCIe 4 (3 ms) and 448 small copies.
  EXPECT_NEAR(value(all.points[0], "adapter_size"), 79.95, 0.01);
  expect_between(value(all.points[0], "adapter_load"), 3, 10);
  for (std::size_t i = 0; i < 4; ++i) {
    expect_between(value(all.points[i], "tpot_overhead"), 1, 40);
    EXPECT_GT(value(few.points[i], "adapter_loads"), value(all.points[i], "adapter_loads"));
    EXPECT_GT(value(few.points[i], "ttft"), value(all.points[i], "ttft"));
  }
}

TEST(SuiteTechniques, P_I4_1TwoModelsOnOneGpu) {
  Scenario s = scenario("suite28/P-I4.1");
  const Point mps = answer(s).points.at(0);
  s.service.neighbour.sharing = "time_slicing";
  const Point turns = answer(s).points.at(0);
  expect_between(value(mps, "tpot_overhead"), 5, 100);
  expect_between(value(mps, "neighbour_tpot_overhead"), 5, 100);
  EXPECT_GT(value(turns, "stretch"), value(mps, "stretch"));
  EXPECT_NEAR(mps.find("stretch")->high90, value(turns, "stretch"), 1e-9);
  // 0.45 of 85 GB each: 0.524 MB a token beside 13.5 GB, 0.131 beside 16.1 and more activations.
  expect_between(value(mps, "kv_tokens"), 0.36e5, 0.48e5);
  expect_between(value(mps, "neighbour_kv_tokens"), 1.3e5, 1.8e5);
  s.service.neighbour.rate = 0.01;  // hardly ever there
  s.service.neighbour.requests = 10;
  expect_between(value(answer(s).points.at(0), "tpot_overhead"), 0, 5);
  s.service.neighbour.utilization = 0.6;
  EXPECT_THROW(answer(s), Infeasible);
}

TEST(SuiteTechniques, P_I5_1TheSpreadOfRequests) {
  const Point some = only_point("suite28/P-I5.1-70"), more = only_point("suite28/P-I5.1-85");
  EXPECT_GT(value(more, "speedup_p50"), value(some, "speedup_p90"));
  for (const Point* p : {&some, &more})
    EXPECT_GT(value(*p, "speedup_p90"), 1.1 * value(*p, "speedup_p10"));
}

TEST(SuiteTechniques, P_I3_2EvictionsComeWithUtilisation) {
  const Answer a = answer(scenario("suite28/P-I3.2"));
  EXPECT_EQ(value(a.points[0], "evictions"), 0);
  EXPECT_GT(value(a.points[2], "evictions"), 0);
  for (const Point& p : a.points) EXPECT_LT(value(p, "kv_waste"), 5);
}

TEST(SuiteTechniques, P_I5_2MorePrefixesHitLess) {
  double hits = 101, ttft = 0;
  for (std::int64_t groups : {1, 50, 100, 200, 400}) {
    Scenario s = scenario("suite28/P-I5.2");
    s.service.prefix_groups = groups;
    const Point p = answer(s).points.at(0);
    EXPECT_LT(value(p, "prefix_hits"), hits) << groups;
    EXPECT_GT(value(p, "ttft"), ttft) << groups;
    hits = value(p, "prefix_hits");
    ttft = value(p, "ttft");
  }
}

TEST(SuiteTechniques, P_I5_6Adapters) {
  expect_between(value(only_point("suite28/P-I5.6"), "tpot_overhead"), 2, 30);
}

TEST(SuiteTechniques, P_I5_7AHostTierSparesPrefills) {
  Scenario s = scenario("suite28/P-I5.7");
  const Point with = answer(s).points.at(0);
  s.service.kv.host_memory = Bytes(0);
  const Point without = answer(s).points.at(0);
  EXPECT_LT(value(with, "ttft"), 0.85 * value(without, "ttft"));
  EXPECT_GT(value(with, "prefix_hits"), value(without, "prefix_hits") + 10);
  expect_between(value(with, "host_copy"), 0.01, 5);  // % of busy
}

}  // namespace
}  // namespace orrery
