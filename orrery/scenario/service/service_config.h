// The simulation that a scenario and its deployment describe, before any technique.
#pragma once

#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

SimulationConfig service_config(const Scenario& scenario, const Deployment& deployment,
                                const Architecture& model, const ParallelPlan& plan,
                                std::int64_t kv_blocks);

}  // namespace orrery
