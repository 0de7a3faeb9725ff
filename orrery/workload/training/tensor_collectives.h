// The passes of tensor-parallel collectives. The all-reduce of a row-parallel product's output has
// its mirror at the input of a column-parallel product. With sequence parallelism an all-reduce
// becomes a reduce-scatter and an all-gather, and the backward pass gathers the inputs of products
// once more.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// A collective of one pass, with the ranks and bytes of `c`.
void add_tensor_collective(PassWriter& w, Collective::Kind kind, double count, const Collective& c,
                           const ProgramOp& op, TrainingPass pass);

// All passes of a collective of the forward Program. `experts`: its layer has routed experts.
void add_collective(PassWriter& w, const Collective& c, const ProgramOp& op, bool experts);

}  // namespace orrery
