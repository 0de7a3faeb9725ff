// Simulations that do not depend on each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace orrery {

using Job = std::function<void()>;

// Runs the jobs on all cores. Each job is a simulation of `requests` requests. The number of jobs
// that run at the same time keeps the requests in memory below 4 million (about 1.5 GB), but is at
// least one. An exception of a job is thrown again when all jobs have ended; of several exceptions
// the first in the order of the jobs.
void side_by_side(std::span<const Job> jobs, std::int64_t requests);

}  // namespace orrery
