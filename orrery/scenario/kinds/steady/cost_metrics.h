// The cost of a steady load: of its GPUs for an hour, and of its tokens and requests.
#pragma once

#include "orrery/energy/account/money.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// Adds the metrics. `hour`: an hour of all GPUs of the deployment. `osl`: tokens that a request
// generates.
void add_cost_metrics(const Estimate<Usd>& hour, std::int64_t osl, const ClosedFormResult& result,
                      Point& point);

}  // namespace orrery
