#include "orrery/scenario/setup/board_governor.h"

#include <algorithm>

#include "orrery/serving/steps/step_work.h"

namespace orrery {

StepGovernor::Decision BoardGovernor::decide(
    const std::function<StepTime(double slowdown)>& at) const {
  const BoardClock c = step_clock(constants_, gpu_, engine_, knobs_,
                                  [&at](double slowdown) { return work_of(at(slowdown)); });
  return {c.slowdown, c.clock, c.power, c.error};
}

ClockedSteps clocked_steps(const StepTime& step, double count) {
  StepWork reference = work_of(step);
  reference.time = step.ungoverned_total, reference.kernels = step.ungoverned_kernels;
  return {.reference = reference.scaled(count),
          .time = step.total.value * count,
          .power = step.governed.power,
          .clock = step.governed.clock,
          .error = step.governed.error};
}

Metric clock_metric(double share, double error, const Gpu& gpu) {
  Metric m =
      metric("clock", Estimate<Hertz>{*gpu.boost_clock * share, error, 0, Origin::kTransferred});
  const double most = gpu.boost_clock->value() / 1e6;
  m.high50 = std::min(m.high50, most), m.high90 = std::min(m.high90, most);
  return m;
}

Metric clock_metric(std::span<const ClockedSteps> kinds, const Gpu& gpu) {
  double error = 0, time = 0;
  for (const ClockedSteps& k : kinds) error += k.error * k.time.value(), time += k.time.value();
  return clock_metric(mean_clock(kinds), time > 0 ? error / time : 0, gpu);
}

}  // namespace orrery
