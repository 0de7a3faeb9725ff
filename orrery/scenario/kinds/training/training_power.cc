#include "orrery/scenario/kinds/training/training_power.h"

namespace orrery {

StepWork work_of(const IterationTime& time, Flops flops, FlopsPerSecond peak) {
  Seconds moved = time.optimizer, links = time.sharding + time.sends + time.reduce + time.gather;
  for (const TrainingCost cost : {TrainingCost::kElementwise, TrainingCost::kCasts})
    moved += time.work[at(cost)];
  for (const TrainingCost cost :
       {TrainingCost::kTensor, TrainingCost::kContext, TrainingCost::kExpertExchange})
    links += time.work[at(cost)];
  Seconds kernels = moved;
  for (const TrainingCost cost :
       {TrainingCost::kProducts, TrainingCost::kAttention, TrainingCost::kAttentionBackward,
        TrainingCost::kExperts, TrainingCost::kHead})
    kernels += time.work[at(cost)];
  return {.time = time.total,
          .kernels = kernels,
          .links = links,
          .compute = flops / peak,
          .memory = moved};
}

Estimate<Watts> power_of_run(const StepPowerConstants& constants, const Gpu& gpu,
                             const Estimate<Watts>& iteration, double busy) {
  if (busy >= 1) return iteration;
  StepWork none;
  none.time = seconds(1);
  const Watts waiting = step_power(constants, gpu, "", none).value;
  return iteration.scaled(busy + (1 - busy) * (waiting / iteration.value));
}

ClockedSteps IterationClock::steps(const StepWork& work, Seconds total) const {
  return {.reference = clock.slowdown <= 1 ? work : reference.stretched(total / longer, 0),
          .time = total,
          .power = clock.power,
          .clock = clock.clock,
          .error = clock.error};
}

IterationClock iteration_clock(const StepPowerConstants& constants, const Gpu& gpu,
                               const PowerKnobs& knobs,
                               const std::function<StepWork(double slowdown)>& at) {
  IterationClock out;
  if (!knobs.any()) return out;
  out.clock = step_clock(constants, gpu, "", knobs, at);
  out.reference = at(1);
  out.longer = at(out.clock.slowdown).time / out.reference.time;
  return out;
}

}  // namespace orrery
