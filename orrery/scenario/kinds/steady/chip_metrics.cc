#include "orrery/scenario/kinds/steady/chip_metrics.h"

#include "orrery/accelerator/chip/chip_area.h"
#include "orrery/accelerator/chip/chip_kernels.h"

namespace orrery {
namespace {

// Energy of a step of one chip.
Joules energy_of_step(const CoreChip& chip, const StepTime& step) {
  if (!chip.energy) return *chip.power * step.total.value;
  Joules energy = chip.energy->idle * step.total.value;
  for (const StepTerm& term : step.terms)
    energy += energy_of(chip, work_of(chip, term.op.op)) * term.op.count;
  return energy;
}

}  // namespace

void add_chip_metrics(const CoreChip& chip, int chips, std::int64_t osl,
                      const ClosedFormResult& result, Point& point) {
  if (chip.energy || chip.power) {
    const ClosedFormResult::Computed& c = result.computed;
    const double decodes = static_cast<double>(osl - 1) * c.decode_batches;
    Joules energy = energy_of_step(chip, c.prompts) * c.prompt_steps;
    if (decodes > 0) energy += energy_of_step(chip, result.decode_step) * decodes;
    const double tokens = static_cast<double>(osl) * static_cast<double>(result.running);
    Metric m = metric("energy_per_token",
                      Estimate<Joules>{energy * (chips / tokens), 0, 0, Origin::kAnalytical});
    point.metrics.push_back(std::move(m));
    point.notes.push_back(chip.energy
                              ? "energy_per_token counts what the chips' file states; links and "
                                "hosts are left out"
                              : "energy_per_token takes the chips' power as drawn all the time");
  }
  Metric area = exact_metric("chip_area", area_of(chip).total());
  area.origin = Origin::kAnalytical;
  point.metrics.push_back(std::move(area));
}

}  // namespace orrery
