// The pipeline of a job: its schedule, its shape, and the virtual stages of each stage.
#pragma once

#include "orrery/training/schedules/schedule.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The schedule called schedule_name(plan). InputError: there is no schedule of that name.
const PipelineSchedule& schedule_of(const TrainingPlan& plan);

PipelineShape shape_of(const TrainingJob& job);

// The virtual stages of a stage, in the order of its chunks. For schedules with two copies of the
// model, the chunks of both copies.
std::vector<int> chunks_of_stage(const TrainingJob& job, int stage);

}  // namespace orrery
