// The answer at one point of a question about training.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_setting.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Fills `point`, its `at` first. Infeasible: the layout breaks a rule of the job, the model or the
// schedule.
void answer_training(Facts& facts, const TrainingQuestion& question, const TrainingSetting& setting,
                     Point& point);

}  // namespace orrery
