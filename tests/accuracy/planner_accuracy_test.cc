// Choices among measured layouts by prediction, and published layouts among all. Skipped where the
// tables are absent. The bounds are the figures that were reached, rounded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/choices/planner_choices.h"
#include "orrery/validate/choices/regret.h"

namespace orrery {
namespace planner_accuracy_test {

Regrets regrets_of(const PlannerValidation& v, std::string_view table, std::string_view metric,
                   const char* peer = nullptr) {
  Regrets out;
  for (const ValidationRow& r : v.report.rows) {
    if (r.by.at("table") != table || r.by.at("metric") != metric) continue;
    out.add(1 - (peer ? r.peers.at(peer) : r.predicted) / r.measured);
  }
  fmt::print("{}, {}{}: mean regret {:.2f} % of {}, within 5 % of the best: {:.1f} %\n", table,
             metric, peer ? ", AIConfigurator" : "", out.mean(), out.questions(),
             out.within(kNear));
  return out;
}

class PlannerAccuracy : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder() / "inference" / "serving_steady.csv"))
      GTEST_SKIP() << data_folder() << " is absent: no measured rows to compare with";
  }
};

TEST_F(PlannerAccuracy, LayoutsThatServe) {
  const PlannerValidation v = validate_planner(data_folder(), "serving", Bundle());
  const Regrets layouts = regrets_of(v, "serving", "layout");
  EXPECT_GE(layouts.questions(), 300u);
  EXPECT_LE(layouts.mean(), 4.0);
  EXPECT_GE(layouts.within(kNear), 90);
  const Regrets points = regrets_of(v, "serving", "point");
  EXPECT_LE(points.mean(), 13.0);
  // Among the points that AIConfigurator predicts, too, ours are the better choices.
  const Regrets ours = regrets_of(v, "serving, shared", "layout");
  const Regrets theirs = regrets_of(v, "serving, shared", "layout", "AIConfigurator");
  EXPECT_GE(ours.questions(), 200u);
  EXPECT_LT(ours.mean(), 0.5 * theirs.mean());
  EXPECT_LT(regrets_of(v, "serving, shared", "point").mean(),
            0.5 * regrets_of(v, "serving, shared", "point", "AIConfigurator").mean());
}

TEST_F(PlannerAccuracy, LayoutsThatTrain) {
  const PlannerValidation v = validate_planner(data_folder(), "training", Bundle());
  const Regrets alike = regrets_of(v, "training", "layout");
  EXPECT_GE(alike.questions(), 40u);
  EXPECT_LE(alike.mean(), 1.0);
  EXPECT_GE(alike.within(kNear), 95);
  const Regrets mixed = regrets_of(v, "training, mixed", "layout");
  EXPECT_LE(mixed.mean(), 4.5);
}

TEST_F(PlannerAccuracy, PublishedLayouts) {
  const PlannerValidation v = validate_planner(data_folder(), "cases", Bundle());
  Regrets all, others;
  for (const ValidationRow& r : v.report.rows) {
    all.add(1 - r.predicted / r.measured);
    if (r.by.at("kind") != "NT") others.add(1 - r.predicted / r.measured);
  }
  fmt::print(
      "published layouts within 5 % of the best prediction: {:.1f} % of {}; without "
      "Nanotron's {:.1f} % of {}\n",
      all.within(kNear), all.questions(), others.within(kNear), others.questions());
  EXPECT_GE(all.questions(), 47u);
  EXPECT_GE(all.within(kNear), 50);
  EXPECT_GE(others.within(kNear), 62);
}

}  // namespace planner_accuracy_test
}  // namespace orrery
