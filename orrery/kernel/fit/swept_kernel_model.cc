#include "orrery/kernel/fit/swept_kernel_model.h"

namespace orrery {

SweptKernelModel::SweptKernelModel(const Gpu& gpu, const KernelClasses& classes,
                                   const Bundle& bundle, TierChoice tier)
    : gpu_(gpu), store_(gpu, bundle, tier), families_(classes, store_) {
  for (const ServedFamily& served : families_) by_family_[&served.family()] = &served;
}

KernelTime SweptKernelModel::predict(const KernelFamily& family, const Op& op) const {
  const auto served = by_family_.find(&family);
  if (served == by_family_.end()) return surfaces_.by_roofline(op);
  KernelTime t;
  t.time.tails = Tails::kHeavy;
  surfaces_.predict(*served->second, op, true, t);
  return t;
}

}  // namespace orrery
