#include "orrery/scenario/steady/energy_metrics.h"

#include "orrery/serving/steps/step_work.h"

namespace orrery {

StepWork work_of_wave(const ClosedFormResult& result, std::int64_t osl) {
  const ClosedFormResult::Computed& c = result.computed;
  StepWork work = work_of(c.prompts).scaled(c.prompt_steps);
  if (osl > 1) work += work_of(result.decode_step).scaled(real(osl - 1) * c.decode_batches);
  work.time = c.time;
  return work;
}

void add_energy_metrics(const StepPowerConstants& constants, const Gpu& gpu,
                        const std::string& engine, int gpus, std::int64_t osl,
                        const ClosedFormResult& result, Point& point) {
  if (!gpu.power) return;
  const StepWork work = work_of_wave(result, osl);
  const Estimate<Watts> power = step_power(constants, gpu, engine, work);
  point.metrics.push_back(power_metric(power, *gpu.power));
  const double requests = real(result.running);
  // The error of the time is that of the longer of the two kinds of steps.
  const ClosedFormResult::Computed& c = result.computed;
  const bool decodes = osl > 1 && result.decode_step.total.value * real(osl - 1) >
                                      c.prompts.total.value * c.prompt_steps;
  const Estimate<Seconds>& of_time = decodes ? result.decode_step.total : result.prefill_step.total;
  const Estimate<Joules> energy =
      energy_of(power, {work.time, of_time.shared, of_time.own, of_time.origin});
  point.metrics.push_back(
      metric("energy_per_token", "J", energy.scaled(gpus / (requests * real(osl))), 1));
  point.metrics.push_back(metric("energy_per_request", "J", energy.scaled(gpus / requests), 1));
}

}  // namespace orrery
