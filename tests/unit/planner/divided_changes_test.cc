// Are the changes of plans that divide GPUs those that other questions give, and have their fleets
// names of their own?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/node.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "tests/unit/planner/divided_question.h"

namespace orrery {
namespace divided_changes_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Fleets of one plan run side by side in a cluster.
TEST(DividedPlan, NamesEachFleetInACluster) {
  const Scenario question = divided_question("h100-sxm", kSmallBeside);
  const Plans plans = plans_of(question);
  std::size_t seen = 0;
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
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
  const Plans plans =
      plans_of(divided_question("\"h100-sxm:1\", \"l40s:9\"", mixed + ", explain: true", "90"));
  std::vector<std::string> changes;
  for (const std::string& note : plans.answer.points[0].notes)
    if (note.starts_with("with ")) changes.push_back(note);
  ASSERT_EQ(changes.size(), 6U);  // two limits both ways, two stocks
  EXPECT_THAT(changes[2], testing::StartsWith("with tpot of llama-3-8b at 27 ms: "));
  // One more H100 takes the place of engines on slower GPUs.
  EXPECT_THAT(changes[4],
              AllOf(testing::StartsWith("with 1 more h100-sxm: "), HasSubstr(" % better: ")));
  EXPECT_LT(gpus(plans_of(divided_question("\"h100-sxm:2\", \"l40s:9\"", mixed, "90"))),
            gpus(plans));
}

}  // namespace divided_changes_test
}  // namespace orrery
