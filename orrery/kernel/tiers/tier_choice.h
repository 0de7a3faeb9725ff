// Kernel models that are held to one tier, for checks of a tier on GPUs that have a better one.
#pragma once

#include <memory>

#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

// The strongest tier that a kernel model may use: any; no sweep of the GPU asked about; no sweep.
enum class TierChoice { kBest, kTransferred, kAnalytical };

std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle, TierChoice tier);

}  // namespace orrery
