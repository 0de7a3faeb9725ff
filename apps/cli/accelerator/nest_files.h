// The files of a question about one einsum under the convention timeloop.
#pragma once

#include <string>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/base/bundle.h"

namespace orrery::cli {

struct NestQuestion {
  TimeloopArchitecture architecture;
  Einsum problem;
};

// An op of a model's step, in place of a workload's file.
struct ModelOp {
  std::string model, op, phase = "prefill";
  std::int64_t batch = 1, isl = 1024;
  int tp = 1;
};

struct NestFiles {
  std::string arch, energies, workload, einsum;
  ModelOp model_op;  // in use if `workload` is empty
};

// Reads `arch`: a chip of our own form or a Timeloop architecture, as a file or the name of a
// bundled chip; `energies`, an energy reference table for the latter, may be empty. Reads
// `workload`: einsums or a Timeloop problem, as a file or the name of a bundled workload, of which
// `einsum` names one; it may be empty where there is only one. An op of a model is one that the
// step of the program has (workload/inference/program.h): of `batch` prompts of `isl` tokens, or
// of a decoding step behind them. InputError as of the readers, with the nearest name.
NestQuestion read_nest_question(const NestFiles& files, const Bundle& bundle);

}  // namespace orrery::cli
