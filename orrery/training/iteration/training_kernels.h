// Whose measured kernels the matrix products of a training job are: catalog/training/kernels.yaml.
//
// Training stacks call cuBLAS and cuBLASLt. The sweeps of serving frameworks time the same calls,
// so training takes the surfaces of the framework that makes the call of a training stack. The
// other kernels are those of KernelClasses.
#pragma once

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

// Throws InputError if the file has an unknown key. Without the file: the default classes.
KernelClasses training_kernels(const Gpu& gpu, const Bundle& bundle);

}  // namespace orrery
