// The command line. Reads flags, asks the library, renders.
#pragma once

namespace orrery::cli {

// Runs a command line, whose first word is the name of the program. Returns the exit code, as in
// orrery/base/error.h.
int run_program(int argc, char** argv);

}  // namespace orrery::cli
