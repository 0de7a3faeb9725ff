// The answer to a question about a fixed batch or a closed loop of equal users, in closed form
// (orrery/serving/closed_form/closed_form.h): TTFT, TPOT, throughput and memory.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// A point for each layout and load. Infeasible: the only layout breaks a rule of the model.
Answer answer_steady(Facts& facts, const Scenario& scenario, const Architecture& model,
                     const Deployment& deployment, const RunOptions& options);

}  // namespace orrery
