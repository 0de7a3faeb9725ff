// The step of the optimizer on one rank, once an iteration.
//
//   Adam            reads and writes weights, gradients, moments and master weights (adam_step)
//   SGD, Muon       have one moment; Muon multiplies matrices too (Newton-Schulz)
//   Adafactor       has rows and columns of the moments alone
//
// The norm of the gradients reads them once more. Gradients in fp16 are divided by the scale of the
// loss. An optimizer on the host works while gradients arrive and updated weights leave.
#pragma once

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/training/iteration/iteration_parts.h"

namespace orrery {

// Parameters of a rank's pipeline stage.
struct UpdatedParameters {
  double owned = 0;     // those that the rank updates: with ZeRO its share of the trained ones
  double products = 0;  // matrices of layers, before ZeRO divides them
};

// Fills StageParts::optimizer and, for an optimizer on the host, to_host, host_step, from_host and
// host_pieces. `hidden`: the width of the model's residual stream.
void add_optimizer(const KernelModel& kernels, const Gpu& gpu, double hidden,
                   const TrainingJob& job, const UpdatedParameters& updated, StageParts& out);

}  // namespace orrery
