// The answer to a question about single kernels (kernel_question.h): the time of one call, what the
// data sheet's rates allow, how near the kernel comes to them, the power and the energy of the
// board while it runs, and the money and the emissions of a call.
#pragma once

#include "orrery/energy/power/power_model.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/kernel/kernel_question.h"
#include "orrery/scenario/setup/call_account.h"

namespace orrery {

// The kernel classes of the question's framework.
KernelClasses classes_of(const KernelQuestion& question);

// The GPU of the call, the model and the power of the classes of classes_of on it, and what is
// asked of its board. Without `power` the answer has neither power nor energy.
struct KernelBoard {
  const Gpu& gpu;
  const KernelModel& model;
  const PowerModel* power = nullptr;
  PowerKnobs knobs;
};

// Answers one call. `accounts`: its money and its plant. InputError: sizes that do not divide,
// check_knobs, or add_call_account. NoData: the GPU does not
// multiply in the format. Infeasible: the board draws more than the limit at its lowest clock.
Point answer_kernel(Facts& facts, const KernelQuestion& question, const KernelBoard& board,
                    const CallChoice& accounts);

}  // namespace orrery
