// orrery: the command line as a program.
#include "apps/cli/program.h"

int main(int argc, char** argv) { return orrery::cli::run_program(argc, argv); }
