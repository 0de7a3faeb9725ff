// The casts of products' operands to narrow formats.
//
// A tensor in 16 bits is read and written in narrow ones, once more transposed for the product in
// which its other dimension is the inner one. A scale from the largest value of the tensor itself
// (TransformerEngine's Float8CurrentScaling and NVFP4BlockScaling) needs that value first: one more
// pass over the tensor.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// The cast of a tensor, with its transposed copy where `transposed`.
void add_operand_cast(PassWriter& w, double elements, const FormatProperties& f, bool transposed,
                      double count, const ProgramOp& op, TrainingPass pass);

// The cast of the input of a product. The gradient of the weight reads its transpose, which a
// forward pass that runs again makes only then.
void add_input_cast(PassWriter& w, double elements, const FormatProperties& f, const ProgramOp& op);

// All casts of a product: of its input, of its output's gradient, and once an iteration of its
// weight; the base weights of QLoRA are dequantised before each use.
void add_casts(PassWriter& w, const Gemm& g, const ProgramOp& op);

}  // namespace orrery
