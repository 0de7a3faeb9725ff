// The answer to a question about a fixed batch or a closed loop of equal users, in closed form
// (orrery/serving/closed_form): TTFT, TPOT, throughput and memory.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

// Fills `point`, its `at` first. REQUIRES a SteadyQuestion. Infeasible: the layout breaks a rule of
// the model. A model or request that does not fit is an answer: Point::feasibility.
void answer_steady(Facts& facts, const Scenario& scenario, const RunOptions& options, Point& point);

}  // namespace orrery
