// Are the changes of plans that divide GPUs those that other questions give, and have their fleets
// names of their own?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/node.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace divided_changes_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

Scenario asked(const std::string& gpu, const std::string& plan, const std::string& rate = "30") {
  return read_scenario(
             parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: {}, "
                                    "requests: 150, isl: 512, osl: 64}}\nslo: {{tpot: 30 ms, ttft: "
                                    "1 s}}\nplan: {{gpu: [{}], pp: [1]{}{}}}",
                                    rate, gpu,
                                    plan.find("tp: [") == plan.npos ? ", tp: [1, 2]" : "", plan),
                        "plan"))
      .points.front();
}

Plans planned(const Scenario& question) {
  Runner runner{Bundle()};
  return find_plans(runner, question);
}

const char* const kOther =
    ", others: {small: {model: llama-2-7b, load: {rate: 9, requests: 150, isl: 300, osl: 50}, slo: "
    "{tpot: 40 ms}}}";

// Fleets of one plan run side by side in a cluster.
TEST(DividedPlan, NamesEachFleetInACluster) {
  const Scenario question = asked("h100-sxm", kOther);
  const Plans plans = planned(question);
  std::size_t seen = 0;
  for (const auto& [path, text] : plan_files(Bundle(), question, plans)) {
    if (!path.ends_with("kubernetes.yaml")) continue;
    ++seen;
    const std::string name = fmt::format("orrery-plan-{}", seen);
    std::size_t names = 0;
    for (std::size_t at = text.find("orrery-plan"); at != text.npos;
         at = text.find("orrery-plan", at + 1), ++names)
      EXPECT_EQ(text.substr(at, name.size()), name);
    EXPECT_GE(names, 5U);
  }
  EXPECT_EQ(seen, 2U);
}

// A question with the changed limit costs what the explanation says.
TEST(DividedPlan, ExplainsWhatALimitChanges) {
  const std::string mixed = ", tp: [1], mixed: true";
  const auto gpus = [](const Plans& plans) {
    std::int64_t sum = 0;
    for (const FleetPlan& f : plans.fleets) sum += f.gpus();
    return sum;
  };
  const Plans plans = planned(asked("\"h100-sxm:1\", \"l40s:9\"", mixed + ", explain: true", "90"));
  std::vector<std::string> changes;
  for (const std::string& note : plans.answer.points[0].notes)
    if (note.starts_with("with ")) changes.push_back(note);
  ASSERT_EQ(changes.size(), 6U);  // two limits both ways, two stocks
  EXPECT_THAT(changes[2], testing::StartsWith("with tpot of llama-3-8b at 27 ms: "));
  // One more H100 takes the place of engines on slower GPUs.
  EXPECT_THAT(changes[4],
              AllOf(testing::StartsWith("with 1 more h100-sxm: "), HasSubstr(" % better: ")));
  EXPECT_LT(gpus(planned(asked("\"h100-sxm:2\", \"l40s:9\"", mixed, "90"))), gpus(plans));
}

}  // namespace divided_changes_test
}  // namespace orrery
