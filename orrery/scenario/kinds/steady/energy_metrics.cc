#include "orrery/scenario/kinds/steady/energy_metrics.h"

#include <utility>
#include <vector>

#include "orrery/energy/power/held_parts.h"
#include "orrery/scenario/setup/board_governor.h"
#include "orrery/scenario/setup/work_of_kinds.h"
#include "orrery/serving/steps/step_work.h"

namespace orrery {
namespace {

// The steps of a wave. What the wave waits beside them counts to each in proportion to its time.
std::vector<ClockedSteps> steps_of_wave(const ClosedFormResult& result, std::int64_t osl) {
  const ClosedFormResult::Computed& c = result.computed;
  std::vector<ClockedSteps> kinds = {clocked_steps(c.prompts, c.prompt_steps)};
  if (osl > 1) {
    kinds.push_back(clocked_steps(result.decode_step, real(osl - 1)));
    StepWork& decodes = kinds.back().reference;
    const Seconds time = decodes.time;
    decodes = decodes.scaled(c.decode_batches), decodes.time = time;
  }
  Seconds sum(0);
  for (const ClockedSteps& k : kinds) sum += k.time;
  for (ClockedSteps& k : kinds) {
    k.time = k.time * (c.time / sum);
    k.reference.time = k.reference.time * (c.time / sum);
  }
  return kinds;
}

}  // namespace

StepWork work_of_wave(const ClosedFormResult& result, std::int64_t osl) {
  const ClosedFormResult::Computed& c = result.computed;
  StepWork work = work_of(c.prompts).scaled(c.prompt_steps);
  if (osl > 1) work += work_of(result.decode_step).scaled(real(osl - 1) * c.decode_batches);
  work.time = c.time;
  return work;
}

Estimate<Watts> power_of_wave(const StepPowerConstants& constants, const ServedModel& served,
                              const ClosedFormResult& result, std::int64_t osl) {
  const Deployment& d = served.deployment;
  if (!served.steps->governed())
    return step_power(constants, d.gpu, d.engine.id, work_of_wave(result, osl));
  return clocked_step_power(constants, d.gpu, d.engine.id, served.knobs,
                            steps_of_wave(result, osl));
}

void add_energy_metrics(const StepPowerConstants& constants, const ServedModel& served,
                        std::int64_t osl, const ClosedFormResult& result, Point& point) {
  const Gpu& gpu = served.deployment.gpu;
  if (!gpu.power) return;
  const int gpus = served.plan.devices();
  const Estimate<Watts> power = power_of_wave(constants, served, result, osl);
  point.metrics.push_back(power_metric(power, served.knobs.limit.value_or(*gpu.power)));
  if (served.steps->governed())
    point.metrics.push_back(clock_metric(steps_of_wave(result, osl), gpu));
  const Seconds time = work_of_wave(result, osl).time;
  const double requests = real(result.running);
  // The error of the time is that of the longer of the two kinds of steps.
  const ClosedFormResult::Computed& c = result.computed;
  const bool decodes = osl > 1 && result.decode_step.total.value * real(osl - 1) >
                                      c.prompts.total.value * c.prompt_steps;
  const Estimate<Seconds>& of_time = decodes ? result.decode_step.total : result.prefill_step.total;
  // Under a limit or a clock the power is held, and the energy takes all of the time's error.
  const double part = served.steps->governed()
                          ? 1
                          : energy_follows_time(constants, gpu, served.deployment.engine.id,
                                                work_of_wave(result, osl));
  const Estimate<Joules> energy =
      energy_of(power, {time, part * of_time.shared, part * of_time.own, of_time.origin});
  point.metrics.push_back(metric("energy_per_token", energy.scaled(gpus / (requests * real(osl)))));
  point.metrics.push_back(metric("energy_per_request", energy.scaled(gpus / requests)));
}

void add_energy_rows(const StepPowerConstants& constants, const ServedModel& served,
                     std::int64_t osl, const ClosedFormResult& result, const PlantAccount* plant,
                     Point& point) {
  const Gpu& gpu = served.deployment.gpu;
  if (!gpu.power) return;
  StepWork work;
  if (served.steps->governed()) {
    for (const ClockedSteps& k : steps_of_wave(result, osl)) work += k.reference;
  } else {
    work = work_of_wave(result, osl);
  }
  const Estimate<Watts> power = power_of_wave(constants, served, result, osl);
  const PowerParts parts =
      held_parts(power_parts(constants, constants.board(gpu.id),
                             constants.engine(served.deployment.engine.id), work),
                 power.value / *gpu.power);
  const double gpus = served.plan.devices();
  const Seconds of_request = work_of_wave(result, osl).time * (1 / real(result.running));
  const Joules full = *gpu.power * of_request * gpus;  // of boards at their limits
  point.energy_of = "request";
  const auto put = [&](const char* name, Joules energy) {
    if (energy > Joules(0)) point.energy.push_back({name, energy});
  };
  for (const auto& [name, part] :
       {std::pair{"awake", parts.awake}, std::pair{"kernels", parts.kernels},
        std::pair{"arithmetic", parts.compute}, std::pair{"memory", parts.memory},
        std::pair{"collectives", parts.links}})
    put(name, full * part);
  if (plant) {
    const PlantAccount::Parts beyond = plant->parts({power, gpus, 0});
    put("node_rest", beyond.rest * of_request);
    put("power_supplies", beyond.supplies * of_request);
    put("cooling", beyond.cooling * of_request);
  }
  const ClosedFormResult::Computed& c = result.computed;
  WorkOfKinds kinds;
  kinds.add(WorkOfKinds(c.prompts, gpu), c.prompt_steps);
  if (osl > 1) kinds.add(WorkOfKinds(result.decode_step, gpu), real(osl - 1) * c.decode_batches);
  point.energy_by_kernel = rows_by_kind(point.energy, kinds);
}

}  // namespace orrery
