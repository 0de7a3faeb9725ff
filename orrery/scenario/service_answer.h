// A simulated service as an Answer's point.
#pragma once

#include "orrery/scenario/answer.h"
#include "orrery/scenario/service.h"
#include "orrery/serving/simulation.h"
#include "orrery/step/step_model.h"

namespace orrery {

// The metrics of one simulation, in the order in which they are shown. Times in ms.
std::vector<Metric> service_metrics(const ServiceScenario& service, const SimulationConfig& config,
                                    const SimulationResult& result);

// Whether `percentile` of the counted requests meet every limit, and none was turned away.
bool meets_slo(const ServiceScenario& service, const SimulationResult& result);

// The requests of one simulation.
std::vector<RequestRow> request_rows(const SimulationResult& result);

// Simulates the load three times: with step times as predicted, and with their 5 % and 95 %
// quantiles, which give every metric's interval (queueing multiplies errors of steps). `intervals`
// false: once, and no intervals. Adds metrics, and requests if asked, to `point`.
void answer_service(const ServiceScenario& service, const SimulationConfig& config,
                    const RequestLoad& load, const StepModel& steps, bool intervals, bool requests,
                    Point& point);

}  // namespace orrery
