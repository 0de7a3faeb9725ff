// The answer to a question about single kernels (kernel_question.h): the time of one call, what the
// data sheet's rates allow, and how near the kernel comes to them.
#pragma once

#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/kernel_question.h"

namespace orrery {

// Whose kernels answer it.
KernelClasses classes_of(const KernelQuestion& question);

// `model`: of `gpu`, with those classes. InputError: sizes that do not divide. NoData: the GPU does
// not multiply in the format.
std::vector<Point> answer_kernels(const KernelQuestion& question, const Gpu& gpu,
                                  const KernelModel& model);

}  // namespace orrery
