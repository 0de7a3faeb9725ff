// The simulation that a scenario and its deployment describe, before any technique.
#pragma once

#include "orrery/scenario/deployment.h"
#include "orrery/scenario/scenario.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

SimulationConfig service_config(const Scenario& scenario, const Deployment& deployment,
                                const Architecture& model, const ParallelPlan& plan,
                                std::int64_t kv_blocks);

}  // namespace orrery
