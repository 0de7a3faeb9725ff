// Metrics of a simulated cluster; none for a fixed number of equal engines.
#pragma once

#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// Adds the metrics of a cluster. Disaggregated prefill and decode: kv_transfer (time from the end
// of a prompt until its KV cache has moved, including waits for blocks and links),
// kv_transfer_alone (mean on idle links), prefill_busy and decode_busy. Autoscaling: engines
// (mean), most_engines, engine_starts, gpu_hours, and with disaggregation prefill_engines and
// decode_engines (means). Failures: failures, retries.
void add_cluster_metrics(const SimulationConfig& config, const SimulationResult& result,
                         std::vector<Metric>& metrics);

// Mean share of the KV memory in use while engines are busy.
double kv_use(const SimulationConfig& config, const SimulationResult& result);

// Whether the service has disaggregated prefill and a fixed number of engines, so that the same
// engines can be asked to do both.
bool compared_with_collocated(const SimulationConfig& config);

// The same engines, each of which does both prefill and decode.
SimulationConfig collocated(SimulationConfig config);

}  // namespace orrery
