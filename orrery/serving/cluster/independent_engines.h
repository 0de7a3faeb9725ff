// Parallel simulation of engines that cannot influence each other.
//
// Engines are independent if the router chooses without looking at them and nothing else connects
// them. The router then deals all requests first, and each engine is simulated from its first to
// its last request by itself. The engines are simulated on all cores. On one core this is faster
// than the common event queue too, because the state of one engine stays in the processor's caches.
//
// The result equals that of the common event queue to the byte, on any number of threads.
#pragma once

#include <span>

#include "orrery/serving/cluster/simulation_config.h"
#include "orrery/serving/routers/router.h"

namespace orrery {

// Returns `router` as a blind router (router.h) if the engines of the service are independent, else
// null. They are independent if there are at least two, all with Role::kServe, and if there is no
// autoscaling, failure, beam search, limit of concurrency, conversation or step log. Every timer
// must offer copies for other threads (StepTimer::for_thread).
BlindRouter* independent_router(const SimulationConfig& config, const RequestLoad& load,
                                Router& router, std::span<StepTimer* const> timers);

// Simulates the engines one by one. REQUIRES independent_router(config, load, router, timers) ==
// &router, a checked load.
SimulationResult simulate_independently(const SimulationConfig& config, const RequestLoad& load,
                                        std::span<StepTimer* const> timers, BlindRouter& router);

}  // namespace orrery
