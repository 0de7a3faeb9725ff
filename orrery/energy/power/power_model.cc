#include "orrery/energy/power/power_model.h"

#include <algorithm>
#include <cmath>

namespace orrery {

PowerModel::Kernel PowerModel::kernel_of(const Op& op) const {
  Kernel kernel{answering_family(op, classes_), {}};
  for (const KernelFamilyEntry& entry : kernel_family_entries()) {
    if (entry.family == kernel.family) kernel.framework = classes_.*entry.framework;
  }
  return kernel;
}

std::optional<PowerSurfaces::Correction> PowerModel::correction(const Op& op,
                                                                const Utilisation& used,
                                                                Seconds time) const {
  if (!gpu_) return {};
  const Kernel kernel = kernel_of(op);
  if (kernel.family == nullptr) return {};
  const int index = kernel.family->class_of(op);
  if (index < 0) return {};
  const KernelClass& its = kernel.family->classes()[static_cast<std::size_t>(index)];
  return surfaces_.reading(kernel.family->name(), kernel.framework, its.sources.front().name,
                           power_place(kernel.family->point(op, *gpu_, true), used, time), time);
}

Estimate<Watts> PowerModel::kernel(const Op& op, const KernelTime& time) const {
  const Kernel kernel = kernel_of(op);
  const Utilisation used = utilisation(time.compute, time.memory, time.time.value);
  return during(activity_.of(kernel.family, op, kernel.framework), used,
                correction(op, used, time.time.value), own_share(time.time.value));
}

BoardClock PowerModel::clock(const Gpu& gpu, const PowerKnobs& knobs, const Op& op,
                             const std::function<KernelTime(double slowdown)>& at) const {
  const Kernel kernel = kernel_of(op);
  const KernelActivity::Entry& entry = activity_.of(kernel.family, op, kernel.framework);
  const double awake = board_.awake.value / board_.limit, left = 1 - awake;
  const double exponent = activity_.exponent();
  const KernelTime reference = at(1);
  const Estimate<Watts> power = this->kernel(op, reference);
  // The correction is that of the call at the reference clock, at every clock.
  const Utilisation used = utilisation(reference.compute, reference.memory, reference.time.value);
  const auto correct = correction(op, used, reference.time.value);
  const double factor = correct ? std::exp(correct->log * own_share(reference.time.value)) : 1;
  const double traffic = entry.shares.memory * std::pow(used.memory, exponent);
  const double rate = entry.shares.compute * std::pow(used.compute, exponent);
  const PowerDemand demand{factor * (awake + left * traffic), factor * left * entry.shares.fixed,
                           factor * left * rate};
  return board_clock(gpu, knobs, {power.value / board_.limit, board_.regulated, power.sigma()},
                     [&](double slowdown) {
                       if (slowdown <= 1) return demand;
                       return slower(demand, factor * awake,
                                     reference.time.value / at(slowdown).time.value,
                                     demand.clocked);
                     });
}

Estimate<Watts> PowerModel::during(const KernelActivity::Entry& entry, const Utilisation& used,
                                   const std::optional<PowerSurfaces::Correction>& correction,
                                   double share) const {
  const Watts awake = board_.awake.value, most = board_.limit * board_.regulated;
  const Watts demanded =
      awake + (board_.limit - awake) * entry.shares.demanded(used, activity_.exponent());
  Watts power = std::min(demanded, most);
  double error = entry.error;
  if (correction) {
    power = std::clamp(power * std::exp(share * correction->log), std::min(awake, power), most);
    const double trusted = share * correction->trusted;
    error += trusted * (correction->error - error);
  }
  const bool measured = board_.awake.origin == Origin::kMeasured && !entry.kernel_class.empty();
  const double shared =
      measured ? board_.awake.shared
               : std::hypot(board_.awake.shared * (awake / power), activity_.shared_error());
  return {power, shared, error, measured ? Origin::kMeasured : Origin::kTransferred};
}

}  // namespace orrery
