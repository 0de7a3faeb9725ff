// The files of a question about one einsum under the convention timeloop.
#pragma once

#include <optional>
#include <string>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/accelerator/sparse/sparse_design.h"
#include "orrery/base/bundle.h"
#include "orrery/scenario/kinds/accelerator/accelerator_question.h"

namespace orrery {

struct NestQuestion {
  TimeloopArchitecture architecture;
  Einsum problem;
  std::optional<SparseDesign> sparse;  // where the files state densities or a sparse design
};

// Reads `arch`: a chip of our own form or a Timeloop architecture, as a file or the name of a
// bundled chip; `energies`, an energy reference table for the latter, may be empty. Reads
// `workload`: einsums or a Timeloop problem, as a file or the name of a bundled workload, of which
// `einsum` names one; it may be empty where there is only one. An op of a model is one that the
// step of the program has (workload/inference/program.h): of `batch` prompts of `isl` tokens, or
// of a decoding step behind them. InputError as of the readers, with the nearest name. `sparse` is
// a file with sparse_optimizations (timeloop_sparse.h) and may be empty: those of the
// architecture's file are taken. Densities are those of a Timeloop problem.
NestQuestion read_nest_question(const AcceleratorQuestion& question, const Bundle& bundle);

}  // namespace orrery
