// Metrics of the techniques that a simulated service uses; nothing where it uses none.
#pragma once

#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

void add_technique_metrics(const SimulationConfig& config, const SimulationResult& result,
                           std::vector<Metric>& metrics);

// How much faster requests are than the same requests of `plain`: `speedup` is the distribution
// over the counted requests of plain TPOT / TPOT (its mean, p10, p50, p90), `speedup_e2e` the mean
// of plain E2E / E2E, `tpot_overhead` what the mean TPOT grew by.
void add_comparison(const ServiceQuestion& service, const SimulationResult& plain,
                    const SimulationResult& result, std::vector<Metric>& metrics);

}  // namespace orrery
