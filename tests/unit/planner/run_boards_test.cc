// Power limits and clocks of the boards in plans of training runs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_files.h"
#include "orrery/planner/runs/run_parts.h"
#include "orrery/planner/runs/run_planner.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace run_boards_test {

using ::testing::HasSubstr;

constexpr const char* kRun = "tokens: 1e9, stack: megatron, seq: 2048, global_batch: 64";
constexpr const char* kClocks[] = {"600 MHz", "900 MHz", "1200 MHz", "1500 MHz"};
constexpr const char* kLimits[] = {"350 W", "500 W"};

Scenario question(const std::string& objective, const std::string& more,
                  const std::string& cost = "{price: 2}") {
  return read_scenario(
             all_kinds(),
             parse_yaml(fmt::format("model: llama-3-8b\nchance: {{draws: 10}}\ncost: {}\n"
                                    "training: {{{}}}\nplan: {{gpu: [h100-sxm], objective: {}, "
                                    "gpu_counts: [8, 16], tp: [2, 4], cp: [1], pp: [1, 2], vp: "
                                    "[1], recompute: [none, full]{}}}",
                                    cost, kRun, objective, more),
                        "plan"))
      .points.front();
}

std::string listed() {
  return fmt::format(", clocks: [{}], power_limits: [{}]", fmt::join(kClocks, ", "),
                     fmt::join(kLimits, ", "));
}

Runner& runner() {
  static Runner one{Bundle()};
  return one;
}

double value(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

// The plan's layout at other boards, as `orrery train` answers it.
Point trained(const RunPlan& plan, const Scenario& asked, const PowerKnobs& boards) {
  RunPlan other = plan;
  other.boards = boards;
  return runner().run(other.asked(asked)).points.at(0);
}

std::vector<PowerKnobs> all_settings() {
  std::vector<PowerKnobs> out;
  for (const auto& limit :
       {std::optional<Watts>(), std::optional(Watts(350)), std::optional(Watts(500))}) {
    out.push_back({limit, std::nullopt});
    for (const double mhz : {600, 900, 1200, 1500}) out.push_back({limit, Hertz(mhz * 1e6)});
  }
  return out;
}

// The least energy of a layout among all settings that end by `hours`.
double least_energy(const RunPlan& plan, const Scenario& asked, double hours) {
  double least = HUGE_VAL;
  for (const PowerKnobs& boards : all_settings()) {
    try {
      const Point p = trained(plan, asked, boards);
      if (value(p, "time_to_train") <= hours) least = std::min(least, value(p, "energy"));
    } catch (const Infeasible&) {
    }
  }
  return least;
}

TEST(RunBoards, TheLeastEnergyIsThatOfTheBestSettingOfEveryLayout) {
  const Scenario with = question("energy", listed()), without = question("energy", "");
  const RunPlans found = find_run_plans(runner(), with), own = find_run_plans(runner(), without);
  const double best = value(found.answer.points.at(0), "energy");
  EXPECT_LT(best, value(own.answer.points.at(0), "energy"));
  ASSERT_TRUE(found.plans.at(0).boards.any());
  for (const RunPlan& plan : found.plans)
    EXPECT_NEAR(value(trained(plan, with, plan.boards), "energy"),
                least_energy(plan, with, HUGE_VAL), 1e-9 * best);
  // No layout of the plan without settings does with less, over the chance that it fits.
  const double ranked = best / value(found.answer.points.at(0), "fits");
  for (std::size_t i = 0; i < own.plans.size(); ++i)
    EXPECT_GE(least_energy(own.plans[i], with, HUGE_VAL) / value(own.answer.points[i], "fits"),
              ranked * (1 - 1e-9))
        << own.plans[i].name();
}

// Settings are left out by a bound; all of them find nothing better.
TEST(RunBoards, NothingIsLostByTheBound) {
  for (const char* more : {"", ", by: 20 h", ", top: 1", ", top: 4"}) {
    const RunPlans few = find_run_plans(runner(), question("energy", listed() + more));
    const RunPlans all =
        find_run_plans(runner(), question("energy", listed() + more + ", exhaustive: true"));
    ASSERT_EQ(few.plans.size(), all.plans.size());
    for (std::size_t i = 0; i < all.plans.size(); ++i) {
      EXPECT_EQ(few.plans[i].name(), all.plans[i].name());
      EXPECT_EQ(value(few.answer.points[i], "energy"), value(all.answer.points[i], "energy"));
    }
  }
}

TEST(RunBoards, ThePlanSaysWhatTrainSaysAtItsSetting) {
  const Scenario asked = question("energy", listed());
  const RunPlans found = find_run_plans(runner(), asked);
  const Point& planned = found.answer.points.at(0);
  const Point answer = trained(found.plans.at(0), asked, found.plans.at(0).boards);
  for (const char* name : {"time_to_train", "energy", "power", "clock", "cost"})
    EXPECT_DOUBLE_EQ(value(planned, name), value(answer, name)) << name;
  EXPECT_EQ(planned.at.contains("clock"), found.plans.at(0).boards.clock.has_value());
}

// A date between the fastest run and that of the least energy asks for a setting between them.
TEST(RunBoards, ADateIsKeptWithTheLeastEnergyThatKeepsIt) {
  const RunPlans free = find_run_plans(runner(), question("energy", listed()));
  const RunPlans fast = find_run_plans(runner(), question("time", ""));
  const double slow = value(free.answer.points.at(0), "time_to_train");
  const double least = value(fast.answer.points.at(0), "time_to_train");
  const double hours = 0.5 * (slow + least);
  const Scenario asked = question("energy", listed() + fmt::format(", by: {} h", hours));
  const RunPlans found = find_run_plans(runner(), asked);
  const Point& p = found.answer.points.at(0);
  EXPECT_LE(value(p, "time_to_train"), hours);
  EXPECT_GE(value(p, "energy"), value(free.answer.points.at(0), "energy") * (1 - 1e-9));
  EXPECT_NEAR(value(p, "energy"), least_energy(found.plans.at(0), asked, hours),
              1e-9 * value(p, "energy"));
}

TEST(RunBoards, ASlowerBoardIsNotTriedWhereItCannotWin) {
  for (const char* objective : {"time", "cost", "gpus"}) {
    const RunPlans own = find_run_plans(runner(), question(objective, ""));
    const RunPlans found = find_run_plans(runner(), question(objective, listed()));
    EXPECT_EQ(found.plans.at(0).name(), own.plans.at(0).name());
    EXPECT_THAT(found.answer.points.at(0).notes,
                testing::Contains(HasSubstr("plan.clocks were not tried")));
  }
}

// Where electricity is dear beside the boards, cheaper runs are slower.
TEST(RunBoards, OwnedGpusWeighElectricityAgainstTime) {
  const std::string book = testing::TempDir() + "/run-boards-prices.yaml";
  std::FILE* file = std::fopen(book.c_str(), "w");
  std::fputs(
      "prices:\n  - {gpu: h100-sxm, tier: owned, provider: us, price: 300, years: 5, electricity: "
      "0.9, date: 2026-09, source: test}\n",
      file);
  std::fclose(file);
  const std::string cost = fmt::format("{{tier: owned, price_book: {}}}", book);
  const RunPlans found = find_run_plans(runner(), question("cost", listed(), cost));
  const RunPlans own = find_run_plans(runner(), question("cost", "", cost));
  EXPECT_TRUE(found.plans.at(0).boards.any());
  EXPECT_LT(value(found.answer.points.at(0), "cost"), value(own.answer.points.at(0), "cost"));
}

TEST(RunBoards, OnlySettingsThatABoardTakesAreListed) {
  const Gpu h100 = runner().catalog().gpu("h100-sxm");
  PlanChoice plan;
  plan.power_limits = {"100 W", "500 W", "900 W"};
  plan.clocks = {"100 MHz", "1200 MHz", "3 GHz"};
  const auto settings = board_settings(plan, h100);
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_FALSE(settings.front().any());
  EXPECT_EQ(to_text(settings.back()), ", 500 W, 1200 MHz");
  plan.clocks = {"fast"};
  EXPECT_THROW(board_settings(plan, h100), InputError);
}

// A value that one of the GPUs takes is a choice, and one that none takes a mistake.
TEST(RunBoards, SettingsThatNoGpuTakesAreRefused) {
  const Catalog& catalog = runner().catalog();
  PlanChoice plan;
  plan.gpu = {"h100-sxm", "b200-sxm"};
  plan.power_limits = {"500 W", "700 W", "900 W"};
  plan.clocks = {"1970 MHz"};
  EXPECT_NO_THROW(check_board_settings(plan, catalog));
  plan.power_limits = {"500 W", "1200 W"};
  try {
    check_board_settings(plan, catalog);
    ADD_FAILURE();
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()).substr(0, 62),
              "plan.power_limits 1200 W: no GPU of the plan takes it: h100-sx");
  }
  plan.power_limits = {};
  plan.clocks = {"9 GHz"};
  EXPECT_THROW(check_board_settings(plan, catalog), InputError);
}

TEST(RunBoards, FilesAndPartsKeepTheSetting) {
  const Scenario asked = question("energy", listed());
  const RunPlans found = find_run_plans(runner(), asked);
  bool told = false;
  for (const auto& [name, text] : run_files(runner(), found)) {
    if (name != "1/megatron-lm.sh") continue;
    EXPECT_TRUE(text.starts_with("#!/bin/sh\n# On each machine first: nvidia-smi ")) << text;
    told = true;
  }
  EXPECT_TRUE(told);
  RunSearch part;
  part.best.push_back({{found.plans.at(0), {Seconds(1), Seconds(2), 3, 4}, 0.9}});
  const RunSearch read = read_part(part_bytes(part), found.plans.at(0).gpu);
  EXPECT_EQ(read.best.at(0).at(0).plan.boards, found.plans.at(0).boards);
  EXPECT_EQ(read.best.at(0).at(0).plan.name(), found.plans.at(0).name());
}

}  // namespace run_boards_test
}  // namespace orrery
