#include "orrery/energy/power/power_model.h"

#include <algorithm>
#include <cmath>

namespace orrery {

const KernelActivity::Entry& PowerModel::constants(const Op& op) const {
  const KernelFamily* family = answering_family(op, classes_);
  std::string_view framework;
  for (const KernelFamilyEntry& entry : kernel_family_entries()) {
    if (entry.family == family) framework = classes_.*entry.framework;
  }
  return activity_.of(family, op, framework);
}

Estimate<Watts> PowerModel::kernel(const Op& op, const KernelTime& time) const {
  return during(constants(op), utilisation(time.compute, time.memory, time.time.value));
}

BoardClock PowerModel::clock(const Gpu& gpu, const PowerKnobs& knobs, const Op& op,
                             const std::function<KernelTime(double slowdown)>& at) const {
  const KernelActivity::Entry& entry = constants(op);
  const double awake = board_.awake.value / board_.limit, left = 1 - awake;
  const double exponent = activity_.exponent();
  const Estimate<Watts> power = kernel(op, at(1));
  return board_clock(gpu, knobs, {power.value / board_.limit, board_.regulated, power.sigma()},
                     [&](double slowdown) -> PowerDemand {
                       const KernelTime t = at(slowdown);
                       const Utilisation u = utilisation(t.compute, t.memory, t.time.value);
                       const double traffic = entry.shares.memory * std::pow(u.memory, exponent);
                       return {awake + left * traffic,
                               left * (entry.shares.demanded(u, exponent) - traffic)};
                     });
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
