// The run that repeats an iteration: its evaluations, its checkpoints and failures, its time and
// its cost.
//
// Evaluations run forward passes alone, and take the place of no step. With `chance` in the
// question the figures are means, failures and checkpoints included.
#pragma once

#include <optional>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_breakdown.h"
#include "orrery/scenario/kinds/training/training_system.h"
#include "orrery/scenario/setup/plant_account.h"

namespace orrery {

// The expected time of a run.
struct ExpectedRun {
  Seconds total;
  double busy = 1;  // busy_share
};
// With chance in the question it is the closed form (FailingRun), where an answer has the mean of
// draws. Nothing: the question has no run.
std::optional<ExpectedRun> expected_run(const TrainingQuestion& question, const IterationTime& time,
                                        const TrainingJob& job);

// The account of a job's boards during an iteration; without power nothing is counted.
struct TrainingAccount {
  std::optional<Estimate<Watts>> power;  // of a board
  std::optional<PlantAccount> plant;
};

// Adds cost_per_hour; evaluation; time_to_train, gpu_hours, energy and cost; the metrics of chance
// (training_chance.h) and of the plant (training_plant.h).
void add_run(const TrainingSystem& system, const TimedIteration& timed,
             const TrainingAccount& account, Point& point);

}  // namespace orrery
