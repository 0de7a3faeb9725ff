// The passes of products with weights: the gradient of the input is a second product, that of the
// weight a third unless the weight is frozen.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// The product with its casts and the accumulation of its weight's gradient.
void add_product(PassWriter& w, const Gemm& g, const ProgramOp& op);

// The gradient of so many weights is added to what earlier micro-batches left: in the product's
// kernel where stacks fuse it (gradient_accumulation_fusion). A kernel of its own reads again, and
// writes again, what the product's kernel wrote in 16 bits.
void add_accumulation(PassWriter& w, double weights, const ProgramOp& op);

}  // namespace orrery
