// The simulation that a scenario and its served model describe, before any technique.
#pragma once

#include <cstdint>

#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// The engines of one pool, without techniques. `kv_blocks`: blocks of the KV cache of one rank.
PoolConfig pool_config(const ServedModel& served, std::int64_t max_model_len, std::int64_t replicas,
                       std::int64_t kv_blocks);

// The effect of a service's techniques on the constants of its engine.
EngineUse engine_use(const ServiceQuestion& service);

// REQUIRES a ServiceQuestion.
SimulationConfig service_config(const Scenario& scenario, const ServedModel& served,
                                std::int64_t kv_blocks);

}  // namespace orrery
