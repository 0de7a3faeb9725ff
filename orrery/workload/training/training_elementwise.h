// The passes of elementwise kernels: norms, residual additions, activations, casts of the forward
// Program. With sequence parallelism those of the residual stream have 1/tp of the rows. Dropout of
// a block's output is a kernel of its own.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

void add_elementwise(PassWriter& w, const Elementwise& e, const ProgramOp& op);

}  // namespace orrery
