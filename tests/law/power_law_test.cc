// Laws of the power of steps: a board never draws more than its limit, idle time costs idle power,
// and more work in the same time never costs less.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

const StepPowerConstants& constants() {
  static const StepPowerConstants c = read_step_power(Bundle());
  return c;
}

Gpu any_board() {
  static const Catalog catalog;
  static const std::vector<std::string> ids = catalog.gpu_ids();
  return *rc::gen::suchThat(
      rc::gen::map(rc::gen::elementOf(ids), [](const std::string& id) { return catalog.gpu(id); }),
      [](const Gpu& gpu) { return gpu.power.has_value(); });
}

std::string any_engine() {
  return *rc::gen::element<std::string>("vllm", "vllm-2025", "sglang", "transformers", "");
}

Seconds any_part() { return seconds(*rc::gen::inRange(0, 1001) / 1000.0); }

// A second of work, whose kernels and collectives do not run at the same time.
StepWork any_work() {
  const Seconds kernels = any_part();
  return {seconds(1), kernels, (seconds(1) - kernels) * 0.5, any_part(), any_part()};
}

double watts(const Gpu& gpu, const std::string& engine, const StepWork& work) {
  return step_power(constants(), gpu, engine, work).value.value();
}

RC_GTEST_PROP(PowerLaw, NeverExceedsTheLimitNorFallsBelowTheAwakeBoard, ()) {
  const Gpu gpu = any_board();
  const double power = watts(gpu, any_engine(), any_work());
  RC_ASSERT(power <= gpu.power->value());
  const double awake = constants().board(gpu.id).awake * gpu.power->value();
  // The softened minimum is below the awake power by less than a millionth.
  RC_ASSERT(power >= awake * (1 - 1e-4));
}

RC_GTEST_PROP(PowerLaw, MoreWorkInTheSameTimeNeverCostsLess, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  StepWork more = work;
  Seconds* const part = *rc::gen::element(&more.kernels, &more.links, &more.compute, &more.memory);
  *part = std::min(seconds(1), *part + any_part());
  RC_ASSERT(watts(gpu, engine, more) >= watts(gpu, engine, work));
}

RC_GTEST_PROP(PowerLaw, TheSameWorkInMoreTimeCostsLessPower, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  const Seconds longer = seconds(1 + *rc::gen::inRange(0, 1000) / 100.0);
  RC_ASSERT(watts(gpu, engine, work.stretched(longer, 0)) <= watts(gpu, engine, work));
}

RC_GTEST_PROP(PowerLaw, TheMeanOfRepeatedStepsIsTheSteps, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  const double one = watts(gpu, engine, work);
  RC_ASSERT(std::abs(watts(gpu, engine, work.scaled(1 + *rc::gen::inRange(0, 1000))) / one - 1) <
            1e-12);
}

Gpu clocked_board() {
  return *rc::gen::suchThat(rc::gen::exec(any_board),
                            [](const Gpu& gpu) { return gpu.boost_clock.has_value(); });
}

// Power and time of a work under knobs; nothing where the board cannot hold the limit.
struct Governed {
  double power = 0, time = 0;  // W, s
};
std::optional<Governed> governed(const Gpu& gpu, const PowerKnobs& knobs, const StepWork& work) {
  try {
    const BoardClock c = step_clock(constants(), gpu, "vllm", knobs, work);
    const ClockedSteps steps[] = {{work, slowed(work, c.slowdown).time, c.power}};
    const double power = clocked_step_power(constants(), gpu, "vllm", knobs, steps).value.value();
    return Governed{power, steps[0].time.value()};
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

Watts any_limit(const Gpu& gpu) { return *gpu.power * (*rc::gen::inRange(100, 1001) / 1000.0); }

RC_GTEST_PROP(PowerLaw, ALowerLimitNeitherSpeedsUpNorDrawsMoreAndIsKept, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const Watts high = any_limit(gpu), low = high * (*rc::gen::inRange(300, 1001) / 1000.0);
  const auto more = governed(gpu, {high, {}}, work), less = governed(gpu, {low, {}}, work);
  if (!less) return;
  RC_ASSERT(more.has_value());
  constexpr double kRounding = 1e-6;
  RC_ASSERT(less->power <= low.value());
  RC_ASSERT(less->power <= more->power * (1 + kRounding));
  RC_ASSERT(less->time >= more->time * (1 - kRounding));
  // Never less energy than the board awake for as long as the work takes.
  const double awake = constants().board(gpu.id).awake * gpu.power->value();
  RC_ASSERT(less->power >= awake * (1 - 1e-3));
}

RC_GTEST_PROP(PowerLaw, ALowerClockNeitherSpeedsUpNorDrawsMore, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const Hertz high = *gpu.boost_clock * (*rc::gen::inRange(300, 1001) / 1000.0);
  const Hertz low = high * (*rc::gen::inRange(500, 1001) / 1000.0);
  const auto more = governed(gpu, {{}, high}, work), less = governed(gpu, {{}, low}, work);
  RC_ASSERT(less->power <= more->power * (1 + 1e-9));
  RC_ASSERT(less->time >= more->time * (1 - 1e-9));
}

RC_GTEST_PROP(PowerLaw, TheDataSheetsLimitAndTheBoostClockChangeNothing, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const auto same = governed(gpu, {gpu.power, gpu.boost_clock}, work);
  RC_ASSERT(same->time == work.time.value());
  RC_ASSERT(same->power == watts(gpu, "vllm", work));
}

}  // namespace
}  // namespace orrery
