// The governor of a served model's steps: the board of its GPU (energy/power/clock_power.h).
#pragma once

#include <span>
#include <string>
#include <utility>

#include "orrery/energy/power/clock_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/step/step_model.h"

namespace orrery {

class BoardGovernor : public StepGovernor {
 public:
  // Borrows `constants` and `gpu`. `engine`: the id of its profile.
  BoardGovernor(const StepPowerConstants& constants, const Gpu& gpu, std::string engine,
                const PowerKnobs& knobs)
      : constants_(constants), gpu_(gpu), engine_(std::move(engine)), knobs_(knobs) {}

  Decision decide(const std::function<StepTime(double slowdown)>& at) const override;

 private:
  const StepPowerConstants& constants_;
  const Gpu& gpu_;
  const std::string engine_;
  const PowerKnobs knobs_;
};

// `count` such steps of a governed model.
ClockedSteps clocked_steps(const StepTime& step, double count);

// The metric `clock` in MHz. `share`: of the boost clock; `error`: relative.
Metric clock_metric(double share, double error, const Gpu& gpu);
// The mean over the time of the steps.
Metric clock_metric(std::span<const ClockedSteps> kinds, const Gpu& gpu);

}  // namespace orrery
