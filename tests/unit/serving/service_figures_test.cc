// ServiceFigures of results that are written by hand.
#include "orrery/serving/figures/service_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/serving/service_fixture.h"

namespace orrery {
namespace service_figures_test {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

// A request of 10 tokens that answers 3: it waits 2 ms, and ends 20 ms after its first token.
RequestRecord request(SimTime arrival, SimTime ttft) {
  RequestRecord q;
  q.arrival = q.queued = arrival;
  q.scheduled = arrival + ms(2);
  q.first_token = arrival + ttft;
  q.finished = q.first_token + ms(20);
  q.input = 10, q.output = 3;
  q.outcome = Outcome::kDone;
  return q;
}

// Requests every 10 ms, with first tokens after 10, 20, ... ms.
SimulationResult requests(int n) {
  SimulationResult r;
  for (int i = 0; i < n; ++i) r.records.push_back(request(ms(10 * i), ms(10 * i + 10)));
  return r;
}

ServiceFigures figures(const SimulationResult& r, const ServiceLevels& levels = {}) {
  return service_figures(levels, {}, plain_service(), r);
}

TEST(ServiceFigures, PercentilesLieBetweenTheOrderedTimes) {
  ServiceLevels levels;
  levels.ttft = seconds(1);
  levels.percentile = 25;
  const ServiceFigures f = figures(requests(11), levels);
  ASSERT_TRUE(f.times.ttft);
  EXPECT_DOUBLE_EQ(f.times.ttft->mean.value(), 0.06);
  std::vector<double> places, at;
  for (const auto& [place, time] : f.times.ttft->percentiles)
    places.push_back(place), at.push_back(time.value());
  EXPECT_THAT(places, ElementsAre(50, 90, 99, 25));
  EXPECT_THAT(at, ElementsAre(DoubleEq(0.06), DoubleEq(0.1), DoubleEq(0.109), DoubleEq(0.035)));
  EXPECT_DOUBLE_EQ(f.times.tpot->mean.value(), 0.01);
  // From 0 to 100 + 110 + 20 ms; each request waits 2 ms of it.
  ASSERT_TRUE(f.rates);
  EXPECT_DOUBLE_EQ(f.rates->duration.value(), 0.23);
  EXPECT_DOUBLE_EQ(f.rates->tokens, 11 * 13 / 0.23);
  const auto& w = f.rates->waiting;
  EXPECT_NEAR((w[0] + w[1] + w[2] + w[3]) * 0.23 / 4, 11 * 0.002, 1e-15);
  EXPECT_FALSE(f.busy || f.scaling || f.losses || f.gaps);
}

TEST(ServiceFigures, ALimitIsKeptByTheTimeThatEqualsIt) {
  const SimulationResult r = requests(3);
  ServiceLevels levels;
  levels.percentile = 50;
  levels.ttft = r.records[1].ttft();
  EXPECT_TRUE(figures(r, levels).meet_slo);
  EXPECT_DOUBLE_EQ(*figures(r, levels).attainment, 2.0 / 3);
  levels.ttft = Seconds(std::nextafter(levels.ttft.value(), 0));
  EXPECT_FALSE(figures(r, levels).meet_slo);
  EXPECT_DOUBLE_EQ(*figures(r, levels).attainment, 1.0 / 3);
  // One request that was turned away misses all limits.
  SimulationResult turned_away = r;
  turned_away.records[0].outcome = Outcome::kTooLong;
  levels.ttft = seconds(1);
  EXPECT_TRUE(figures(r, levels).meet_slo);
  EXPECT_FALSE(figures(turned_away, levels).meet_slo);
}

TEST(ServiceFigures, AClassHoldsTheRequestsThatNoneBeforeItHas) {
  SimulationResult r = requests(4);
  r.records[3].input = 1000;
  ServiceLevels levels;
  levels.classes.resize(2);
  levels.classes[0].name = "short", levels.classes[0].isl = 10;
  levels.classes[0].ttft = milliseconds(30.5);
  levels.classes[1].name = "rest", levels.classes[1].ttft = milliseconds(39.5);
  const ServiceFigures f = figures(r, levels);
  EXPECT_DOUBLE_EQ(f.classes.at(0).ttft->mean.value(), 0.02);
  EXPECT_DOUBLE_EQ(f.classes.at(1).ttft->mean.value(), 0.04);
  EXPECT_FALSE(f.classes[0].tpot);
  EXPECT_DOUBLE_EQ(*f.attainment, 0.75);
  EXPECT_FALSE(f.meet_slo);
}

TEST(ServiceFigures, WarmUpAndCoolDownAreLeftOut) {
  const SimulationResult r = requests(6);
  const ServiceFigures f = service_figures({}, {1, 3}, plain_service(), r);
  EXPECT_EQ(f.counted, 2);
  EXPECT_DOUBLE_EQ(f.times.ttft->mean.value(), 0.025);
  EXPECT_EQ(service_figures({}, {4, 9}, plain_service(), r).counted, 0);
  // The same requests twice as slow, but for those that are left out.
  SimulationResult slow = r;
  for (const std::size_t i : {1, 2})
    slow.records[i].finished += slow.records[i].finished - slow.records[i].first_token;
  const Speedup s = speedup({1, 3}, slow, r);
  EXPECT_DOUBLE_EQ(s.tpot->mean, 2);
  EXPECT_DOUBLE_EQ(*s.tpot_overhead, -0.5);
}

TEST(ServiceFigures, TheKvMemoryOfAPoolCountsWhileItsEnginesAreBusy) {
  SimulationConfig config = plain_service();  // 1,000 blocks an engine
  config.others = {plain_service()};
  config.others[0].replica.kv_blocks = 500;
  SimulationResult r;
  r.replicas.resize(2);
  r.pool_of = {0, 1};
  r.engine_times = {seconds(10), seconds(10)};
  r.replicas[0].busy = seconds(2), r.replicas[0].used_block_seconds = 1000;
  r.replicas[1].busy = seconds(4), r.replicas[1].used_block_seconds = 200;
  const ServiceFigures f = service_figures({}, {}, config, r);
  EXPECT_DOUBLE_EQ(*f.kv_use, 0.3);
  EXPECT_DOUBLE_EQ(*f.busy, 0.3);
}

}  // namespace service_figures_test
}  // namespace orrery
