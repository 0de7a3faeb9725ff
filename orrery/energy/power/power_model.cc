#include "orrery/energy/power/power_model.h"

#include <algorithm>
#include <cmath>

namespace orrery {

Estimate<Watts> PowerModel::kernel(const Op& op, const KernelTime& time) const {
  const KernelFamily* family = answering_family(op, classes_);
  std::string_view framework;
  for (const KernelFamilyEntry& entry : kernel_family_entries()) {
    if (entry.family == family) framework = classes_.*entry.framework;
  }
  return during(activity_.of(family, op, framework),
                utilisation(time.compute, time.memory, time.time.value));
}

Estimate<Watts> PowerModel::during(const KernelActivity::Entry& entry,
                                   const Utilisation& used) const {
  const Watts awake = board_.awake.value;
  const Watts demanded =
      awake + (board_.limit - awake) * entry.shares.demanded(used, activity_.exponent());
  const Watts power = std::min(demanded, board_.limit * board_.regulated);
  const bool measured = board_.awake.origin == Origin::kMeasured && !entry.kernel_class.empty();
  const double shared =
      measured ? board_.awake.shared
               : std::hypot(board_.awake.shared * (awake / power), activity_.shared_error());
  return {power, shared, entry.error, measured ? Origin::kMeasured : Origin::kTransferred};
}

}  // namespace orrery
