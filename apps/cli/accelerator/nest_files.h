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

// Reads `arch`: a chip of our own form or a Timeloop architecture, as a file or the name of a
// bundled chip; `energies`, an energy reference table for the latter, may be empty. Reads
// `workload`: einsums or a Timeloop problem, as a file or the name of a bundled workload, of which
// `einsum` names one; it may be empty where there is only one. InputError as of the readers, with
// the nearest name.
NestQuestion read_nest_question(const std::string& arch, const std::string& energies,
                                const std::string& workload, const std::string& einsum,
                                const Bundle& bundle);

}  // namespace orrery::cli
