// Does the fit of the power of steps find the constants that made its rows?
#include "orrery/validate/energy/step_power_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace step_power_fit_test {

StepPowerConstants truth() {
  StepPowerConstants c;
  c.kernels = 0.2, c.compute = 1.2, c.memory = 0.5, c.links = 0.2;
  c.compute_exponent = 0.55, c.memory_exponent = 0.85;
  c.boards = {{"a", {0.15, 1.1}}, {"b", {0.25, 0.9}}};
  c.engines = {{"one", 1.05}, {"two", 0.95}};
  c.regulated = 0.98;
  return c;
}

// Services of two boards, engines and models at batches that fill the units more and more.
std::vector<LlmPowerRow> made_rows() {
  std::vector<LlmPowerRow> rows;
  for (const char* gpu : {"a", "b"}) {
    for (const char* engine : {"one", "two"}) {
      for (const char* model : {"x", "y"}) {
        for (int i = 0; i <= 10; ++i) {
          LlmPowerRow r;
          r.gpu.id = gpu, r.gpu.power = Watts(500);
          r.engine = engine, r.group = std::string(gpu) + " " + model;
          const double use = i / 10.0, memory = model[0] == 'x' ? 0.8 - 0.4 * use : 0.2 + 0.5 * use;
          r.work = {seconds(1), seconds(0.5 + 0.4 * use), seconds(0.02 + 0.05 * use),
                    seconds(0.5 * use * use), seconds(memory)};
          r.time = seconds(1);
          const StepPowerConstants c = truth();
          r.power = Watts(500) * share_of_limit(c, c.board(gpu), c.engine(engine), r.work);
          rows.push_back(r);
        }
      }
    }
  }
  return rows;
}

TEST(StepPowerFit, FindsThePowerOfAGroupThatItHasNotSeen) {
  const std::vector<LlmPowerRow> rows = made_rows();
  const StepPowerFit fit = fit_step_power(rows, "a x", 0.98);
  double worst = 0;
  for (const LlmPowerRow& r : rows) {
    if (r.group == "a x")
      worst = std::max(worst, std::abs(std::log(power_in_measured_time(r, fit) / r.power)));
  }
  EXPECT_LT(worst, 0.03);  // the priors pull a little
}

TEST(StepPowerFit, IsNotMovedByAGroupThatItLeavesOut) {
  std::vector<LlmPowerRow> rows = made_rows();
  const StepPowerFit before = fit_step_power(rows, "a x", 0.98);
  for (LlmPowerRow& r : rows) {
    if (r.group == "a x") r.power = r.power * 3;
  }
  EXPECT_EQ(fit_step_power(rows, "a x", 0.98).constants.compute, before.constants.compute);
}

TEST(StepPowerFit, IsPulledLittleByOneWrongRow) {
  std::vector<LlmPowerRow> rows = made_rows();
  rows.front().power = rows.front().power * 4;
  const StepPowerFit fit = fit_step_power(rows, "", 0.98);
  EXPECT_NEAR(std::log(power_in_measured_time(rows.back(), fit) / rows.back().power), 0, 0.03);
}

TEST(StepPowerFit, TellsTheErrorOfRowsThatItHasNotSeen) {
  std::vector<LlmPowerRow> rows = made_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].power = rows[i].power * (i % 2 == 0 ? 1.2 : 1 / 1.2);
  // 1.25 mean absolute errors of log 1.2 = 0.182.
  EXPECT_NEAR(fit_step_power(rows, 0.98).error, 1.25 * std::log(1.2), 0.03);
}

}  // namespace step_power_fit_test
}  // namespace orrery
