// Do services on spot machines lose their engines as often as the machines are taken away?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace spot_losses_test {

using testing::Contains;
using testing::HasSubstr;

Point answer_of(const std::string& more, const std::string& layout = "tp: 1") {
  static Runner runner{Bundle()};
  return runner
      .run(read_scenario(
          all_kinds(),
          parse_yaml("{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {" + layout +
                         "}, cluster: {replicas: 2}, load: {rate: 30, requests: "
                         "1500, isl: 256, osl: 128}, " +
                         more + "}",
                     "spot.yaml")))
      .points.front();
}

double value(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

constexpr const char* kFiguresOfLosses[] = {
    "ttft_p99", "e2e_p99", "failures", "retries", "cost", "cost_per_million_output_tokens"};

// 8,640 losses a day are one in 10 s, by whatever key they are asked for; and two causes of one in
// 20 s each are one in 10 s.
TEST(SpotLosses, AreFailuresOfTheirRate) {
  const Point failing = answer_of("cost: {price: 1}, failures: {mean_time: 10 s, restart: 5 s}");
  for (const char* spot :
       {"cost: {price: 1, preemptions_per_day: 8640}, failures: {restart: 5 s}",
        "cost: {price: 1, preemptions_per_day: 4320}, failures: {mean_time: 20 s, restart: 5 s}"}) {
    const Point p = answer_of(spot);
    for (const char* name : kFiguresOfLosses)
      EXPECT_NEAR(value(p, name), value(failing, name), 1e-9 * value(failing, name)) << name;
  }
}

TEST(SpotLosses, CostLatencyAndMoney) {
  const Point kept = answer_of("cost: {price: 1}");
  const Point lost =
      answer_of("cost: {price: 1, preemptions_per_day: 8640}, failures: {restart: 20 s}");
  EXPECT_GT(value(lost, "failures"), 2);
  EXPECT_GT(value(lost, "ttft_p99"), value(kept, "ttft_p99"));
  EXPECT_GT(value(lost, "cost_per_million_output_tokens"),
            value(kept, "cost_per_million_output_tokens"));
  EXPECT_EQ(value(lost, "rejected"), 0);
}

// An engine on two nodes of eight is lost twice as often as one on a part of a node.
TEST(SpotLosses, AnEngineIsLostWithEachOfItsMachines) {
  const std::string spot = "cost: {price: 1, preemptions_per_day: 6}";
  EXPECT_THAT(answer_of(spot).notes, Contains(HasSubstr("an engine is lost every 4 h")));
  EXPECT_THAT(answer_of(spot, "tp: 8, pp: 2").notes,
              Contains(HasSubstr("an engine is lost every 2 h")));
}

TEST(SpotLosses, AreThoseOfThePriceBookUnlessAskedOtherwise) {
  const std::string path = testing::TempDir() + "orrery-spot-prices.yaml";
  std::ofstream(path) << "prices:\n"
                         "- {gpu: h100-sxm, tier: spot, provider: me, price: 1, date: now, "
                         "source: me, preemptions_per_day: 12}\n"
                         "- {gpu: h100-sxm, tier: on_demand, provider: me, price: 2, date: now, "
                         "source: me}\n";
  const std::string book = "cost: {price_book: '" + path + "', tier: ";
  EXPECT_THAT(answer_of(book + "spot}").notes, Contains(HasSubstr("lost every 2 h")));
  EXPECT_THAT(answer_of(book + "spot, preemptions_per_day: 24}").notes,
              Contains(HasSubstr("lost every 1 h")));
  EXPECT_EQ(answer_of(book + "on_demand}").find("failures"), nullptr);
  // The bundled book does not say how often.
  EXPECT_THAT(answer_of("cost: {tier: spot}").notes,
              Contains(HasSubstr("nobody states how often")));
}

TEST(SpotLosses, AreRefusedWhereTheyHaveNoEffect) {
  EXPECT_THAT(refusal_of([] { answer_of("cost: {tier: on_demand, preemptions_per_day: 1}"); }),
              HasSubstr("preemptions_per_day"));
  EXPECT_THAT(refusal_of([] {
                Runner(Bundle()).run(read_scenario(
                    all_kinds(),
                    parse_yaml("{model: llama-3-8b, hardware: {gpu: h100-sxm}, cost: {price: 1, "
                               "preemptions_per_day: 1}, workload: {batch: 1}}",
                               "spot.yaml")));
              }),
              HasSubstr("a steady state has no losses"));
}

}  // namespace spot_losses_test
}  // namespace orrery
