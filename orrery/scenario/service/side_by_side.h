// Simulations that do not depend on each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace orrery {

using Job = std::function<void()>;

// Runs the jobs on all cores; each is a simulation of so many requests, and only as many run at a
// time as keep the requests in memory below 4 million (about 1.5 GB), or one. What a job throws is
// thrown again when all have ended: of several the first in order.
void side_by_side(std::span<const Job> jobs, std::int64_t requests);

}  // namespace orrery
