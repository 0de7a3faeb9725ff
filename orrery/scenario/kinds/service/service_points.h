// The answer to a question about a simulated service.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Fills `point`, its `at` first. REQUIRES a ServiceQuestion. NoData: what is asked for is not
// simulated. InputError: techniques that do not go together. Infeasible: the layout breaks a rule
// of the model, or a further pool does not fit. A first pool that does not fit is an answer:
// Point::feasibility.
void answer_services(Facts& facts, const Scenario& scenario, const RunOptions& options,
                     Point& point);

}  // namespace orrery
