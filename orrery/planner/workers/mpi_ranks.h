// The ranks of an MPI job: `mpirun -n 4 orrery plan ...`.
#pragma once

#include <memory>

#include "orrery/planner/workers/ranks.h"

namespace orrery {

// The library of MPI that the program was built with: "Open MPI 4.1.4"; empty: none.
std::string mpi_library();

// This process's number among those that an MPI launcher has started, as its environment says; 0
// where there is no launcher. Starts nothing.
int launched_rank();

// Joins the job; null: this process was not started by a launcher, or is alone. The job is left
// when the object is destroyed. Call it once. InputError: several processes were started, and the
// program was built without MPI.
std::unique_ptr<Ranks> join_mpi();

// Ends all ranks at once, after a failure of this one alone.
[[noreturn]] void abort_mpi(int code);

}  // namespace orrery
