// The plant of a training job: its power in `energy.scope` and the emissions of its electricity,
// for an hour and for the whole run.
//
// The run takes time_to_train, with failures and checkpoints where they are asked for, at its mean
// power (power_of_run, training_power.h): GPUs that wait for a restart are awake.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"

namespace orrery {

// Counts what the scope of the account does (count_scope), adds carbon_per_hour and
// embodied_carbon_per_hour, and where there is a run `carbon`, and `deferred_carbon` of a series.
// `boards`: during an iteration, and in the mean of the run.
void add_training_plant(const PlantAccount& account, const ScopedBoards& boards,
                        const std::optional<Estimate<Seconds>>& run, Point& point);

}  // namespace orrery
