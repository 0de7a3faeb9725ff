// The highest rate of arrivals at which a simulated service meets its SLO.
#pragma once

#include "orrery/scenario/service/service_answer.h"

namespace orrery {

// Within 1 %: doubled or halved until it lies between two rates, then bisected, with the same seed
// throughout, so that rates differ by nothing but their rate.
//
// InputError: no SLO, arrivals that have no rate, or too few requests for any rate to miss it.
// Infeasible: one request alone misses it.
double max_rate(const ServiceScenario& service, const SimulationConfig& config,
                const MakeClocks& clocks, StepScale scale = {});

// Adds `max_rate`, and `collocated_max_rate` where prefill and decode are apart, to the point; with
// `intervals` the search is made with fast and slow steps too. Returns the rate.
double add_max_rates(const ServiceScenario& service, const SimulationConfig& config,
                     const MakeClocks& clocks, Origin origin, bool intervals, Point& point);

}  // namespace orrery
