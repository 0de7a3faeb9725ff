#include "orrery/scenario/setup/kernel_origins.h"

#include <fmt/format.h>

namespace orrery {

std::optional<std::string> note_of_origins(const char* phase, const StepTime& step,
                                           const KernelModel& kernels) {
  constexpr double kLeastShare = 0.05;
  const StepTerm* longest = nullptr;
  Seconds of_others;
  for (const StepTerm& t : step.terms) {
    const bool other =
        t.time.origin == Origin::kTransferred || t.time.origin == Origin::kAnalytical;
    if (!other || std::holds_alternative<Collective>(t.op.op)) continue;
    of_others += t.time.value;
    if (!longest || t.time.value > longest->time.value) longest = &t;
  }
  const double share = of_others / step.total.value;
  if (!longest || share < kLeastShare) return std::nullopt;
  return fmt::format("{}: {:.0f} % of the step are kernels without a sweep of this call; {}: {}",
                     phase, 100 * share, longest->op.name, kernels.provenance(longest->op.op));
}

}  // namespace orrery
