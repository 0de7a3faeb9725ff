// The answer to a question about single kernels (kernel_question.h): the time of one call, what the
// data sheet's rates allow, and how near the kernel comes to them.
#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/kernel_question.h"

namespace orrery {

// The kernel classes of the question's framework.
KernelClasses classes_of(const KernelQuestion& question);

// Answers one call. `model` is that of `gpu` with the classes of classes_of. InputError: sizes that
// do not divide. NoData: the GPU does not multiply in the format.
Point answer_kernel(const KernelQuestion& question, const Gpu& gpu, const KernelModel& model);

}  // namespace orrery
