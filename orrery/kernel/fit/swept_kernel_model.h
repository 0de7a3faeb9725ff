// Times of kernel calls as a sweep measures them, for fits and for the judgement of fits.
//
// A sweep repeats each call on the same operands, so that operands which fit stay in the L2 cache,
// and it times only the kernels of its table. A KernelModel predicts a call of an engine's step
// instead, and chooses the family itself; here the caller names the family whose table the call is
// from.
#pragma once

#include <map>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/kernel/tiers/served_family.h"
#include "orrery/kernel/tiers/surface_predictor.h"
#include "orrery/kernel/tiers/tier_choice.h"

namespace orrery {

class SweptKernelModel {
 public:
  SweptKernelModel(const Gpu& gpu, const KernelClasses& classes, const Bundle& bundle,
                   TierChoice tier = TierChoice::kBest);

  // The time of a repeated call of `family`. A family that `classes` names no framework for takes
  // the roofline's. NoData: the GPU has no peak for the op's number format.
  KernelTime predict(const KernelFamily& family, const Op& op) const;

 private:
  const KernelGpu gpu_;
  const SurfacePredictor surfaces_{gpu_};
  const SurfaceStore store_;
  const ServedFamilies families_;
  std::map<const KernelFamily*, const ServedFamily*> by_family_;
};

}  // namespace orrery
