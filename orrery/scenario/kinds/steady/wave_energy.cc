#include "orrery/scenario/kinds/steady/wave_energy.h"

#include <utility>

#include "orrery/accelerator/chip/chip_kernels.h"
#include "orrery/energy/power/held_parts.h"
#include "orrery/scenario/setup/board_governor.h"
#include "orrery/scenario/setup/work_of_kinds.h"
#include "orrery/serving/steps/step_work.h"

namespace orrery {
namespace {

// The steps of a wave. What the wave waits beside them counts to each in proportion to its time.
std::vector<ClockedSteps> steps_of_wave(const ClosedFormResult& result) {
  const ClosedFormResult::Computed& c = result.computed;
  std::vector<ClockedSteps> kinds = {clocked_steps(c.prompts, c.prompt_steps)};
  if (c.decode_steps > 0) {
    kinds.push_back(clocked_steps(result.decode_step, c.decode_steps));
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

// Energy of a step of one chip.
Joules energy_of_step(const CoreChip& chip, const StepTime& step) {
  if (!chip.energy) return *chip.power * step.total.value;
  Joules energy = chip.energy->idle * step.total.value;
  for (const StepTerm& term : step.terms)
    energy += energy_of(chip, work_of(chip, term.op.op)) * term.op.count;
  return energy;
}

}  // namespace

StepWork work_of_wave(const ClosedFormResult& result) {
  const ClosedFormResult::Computed& c = result.computed;
  StepWork work = work_of(c.prompts).scaled(c.prompt_steps);
  if (c.decode_steps > 0) work += work_of(result.decode_step).scaled(c.decodes());
  work.time = c.time;
  return work;
}

std::optional<WaveEnergy> wave_energy(const StepPowerConstants& constants,
                                      const ServedModel& served, const ClosedFormResult& result) {
  const Gpu& gpu = served.deployment.gpu;
  if (!gpu.power) return std::nullopt;
  const std::string& engine = served.deployment.engine.id;
  const ClosedFormResult::Computed& c = result.computed;
  // The error of the time is that of the longer of the two kinds of steps.
  const bool decodes =
      result.decode_step.total.value * c.decode_steps > c.prompts.total.value * c.prompt_steps;
  const Estimate<Seconds>& of_time = decodes ? result.decode_step.total : result.prefill_step.total;
  WaveEnergy out;
  double part = 1;  // under a limit or a clock the power is held, and energy has all of that error
  if (served.steps->governed()) {
    out.clocked = steps_of_wave(result);
    for (const ClockedSteps& k : out.clocked) out.work += k.reference;
    out.power = clocked_step_power(constants, gpu, engine, served.knobs, out.clocked);
  } else {
    out.work = work_of_wave(result);
    out.power = step_power(constants, gpu, engine, out.work);
    part = energy_follows_time(constants, gpu, engine, out.work);
  }
  const Estimate<Joules> board =
      energy_of(out.power, {c.time, part * of_time.shared, part * of_time.own, of_time.origin});
  const int gpus = served.plan.devices();
  out.token = board.scaled(gpus / (real(result.running) * result.osl()));
  out.request = board.scaled(gpus / real(result.running));
  return out;
}

void add_energy_rows(const StepPowerConstants& constants, const ServedModel& served,
                     const WaveEnergy& wave, const ClosedFormResult& result,
                     const PlantAccount* plant, Point& point) {
  const Gpu& gpu = served.deployment.gpu;
  const PowerParts parts =
      held_parts(power_parts(constants, constants.board(gpu.id),
                             constants.engine(served.deployment.engine.id), wave.work),
                 wave.power.value / *gpu.power);
  const double gpus = served.plan.devices();
  const ClosedFormResult::Computed& c = result.computed;
  const Seconds of_request = c.time * (1 / real(result.running));
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
    const PlantAccount::Parts beyond = plant->parts({wave.power, gpus, 0});
    put("node_rest", beyond.rest * of_request);
    put("power_supplies", beyond.supplies * of_request);
    put("cooling", beyond.cooling * of_request);
  }
  WorkOfKinds kinds;
  kinds.add(WorkOfKinds(c.prompts, gpu), c.prompt_steps);
  if (c.decode_steps > 0) kinds.add(WorkOfKinds(result.decode_step, gpu), c.decodes());
  point.energy_by_kernel = rows_by_kind(point.energy, kinds);
}

std::optional<Estimate<Joules>> chip_energy_of_token(const CoreChip& chip, int chips,
                                                     const ClosedFormResult& result) {
  if (!chip.energy && !chip.power) return std::nullopt;
  const ClosedFormResult::Computed& c = result.computed;
  Joules energy = energy_of_step(chip, c.prompts) * c.prompt_steps;
  if (c.decode_steps > 0) energy += energy_of_step(chip, result.decode_step) * c.decodes();
  const double tokens = result.osl() * real(result.running);
  return Estimate<Joules>{energy * (chips / tokens), 0, 0, Origin::kAnalytical};
}

}  // namespace orrery
