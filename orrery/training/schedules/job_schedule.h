// The pipeline of a job: which schedule it runs, in which shape, and which virtual stages a stage
// holds.
#pragma once

#include "orrery/training/schedules/schedule.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The one of schedule_name. InputError: an unknown name.
const PipelineSchedule& schedule_of(const TrainingPlan& plan);

PipelineShape shape_of(const TrainingJob& job);

// Virtual stages of a stage, in the order of its chunks; of schedules with two copies of the model
// both are in it.
std::vector<int> chunks_of_stage(const TrainingJob& job, int stage);

}  // namespace orrery
