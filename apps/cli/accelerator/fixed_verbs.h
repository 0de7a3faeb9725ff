// The subcommands of `orrery accelerator` for chips whose dataflow is fixed.
#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

// Adds `orrery accelerator systolic`: layers of SCALE-Sim on a systolic array.
void add_systolic(CLI::App& accelerator);
// Adds `orrery accelerator directives`: layers under MAESTRO's directives.
void add_directives(CLI::App& accelerator);

}  // namespace orrery::cli
