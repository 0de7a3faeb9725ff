// Engines that share nothing but a router which does not look at them: each has its own lane, its
// requests in order of arrival, and lanes are simulated side by side, on all cores. One after the
// other they are faster too: an engine's state stays in the processor's caches.
//
// What comes out is what the events of all engines together would give, to the byte, on any number
// of threads.
#pragma once

#include <span>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/routers/router.h"

namespace orrery {

// The router, if the service can be simulated so: a blind router (router.h), several engines, each
// of them serving; no autoscaling, failures, beams, closed loop, conversations or step log; and
// timers that can be used on other threads. Null: not.
BlindRouter* lane_router(const SimulationConfig& config, const RequestLoad& load, Router& router,
                         std::span<StepTimer* const> timers);

// REQUIRES lane_router(config, load, router, timers) == &router, a checked load.
SimulationResult simulate_lanes(const SimulationConfig& config, const RequestLoad& load,
                                std::span<StepTimer* const> timers, BlindRouter& router);

}  // namespace orrery
