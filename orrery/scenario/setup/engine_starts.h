// Answers about serving, whose question may leave open how the engine is started.
#pragma once

#include <functional>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

using AnswerServing = std::function<void(const Scenario&, const RunOptions&, Point&)>;

// Fills `point` by `answer`. Where the scenario does not say how the engine is started and the ways
// differ, the point is that of the default start, and its intervals cover a tuned one, too.
void answer_both_starts(Facts& facts, const Scenario& scenario, const RunOptions& options,
                        const AnswerServing& answer, Point& point);

}  // namespace orrery
