// Discrete-event simulation of a service: requests arrive, a router chooses a replica for each, and
// each replica (an Engine) runs step after step.
//
// Events are ordered by time, then by kind (arrivals, changes of the fleet, looks of routers, KV
// transfers, rounds of beam search, ends of steps), then by the order in which they were scheduled.
// The same input gives the same bytes. Requests that can never run, because they are longer than
// the model's context or than the whole KV cache, are rejected and counted.
//
// Disaggregated prefill: pools have Role::kPrefill or Role::kDecode. A request goes to an engine
// that prefills, which makes its first token. The second router then chooses an engine that
// decodes, and the KV cache follows (kv_transfer.h). It occupies the first engine until it has
// moved. A failure of either engine until then, or of the second one later, loses the request,
// which begins again from its prompt; the other engine gives back what it has of it.
#pragma once

#include <span>

#include "orrery/serving/cluster/simulation_config.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

// Simulates all requests of `load`. `timers` has one timer for each pool. Throws InputError for
// unknown names and for what check() refuses. Throws std::logic_error if requests wait and nothing
// runs, which is a fault of a scheduler.
SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          std::span<StepTimer* const> timers);
// The same with one timer for all pools.
SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          StepTimer& timer);

}  // namespace orrery
