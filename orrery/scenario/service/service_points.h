// The answer to a question about a simulated service: a point for each layout and rate.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// NoData, InputError, Infeasible: what the service asks for is not simulated, does not go together,
// or does not fit.
Answer answer_services(Facts& facts, const Scenario& scenario, const Architecture& model,
                       const Deployment& deployment, const RunOptions& options);

}  // namespace orrery
