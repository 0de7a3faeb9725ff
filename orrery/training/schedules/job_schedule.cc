#include "orrery/training/schedules/job_schedule.h"

namespace orrery {

const PipelineSchedule& schedule_of(const TrainingPlan& plan) {
  return pipeline_schedule(schedule_name(plan));
}

PipelineShape shape_of(const TrainingJob& job) {
  return {job.plan.pp, job.plan.vp, static_cast<int>(job.micro_batches())};
}

std::vector<int> chunks_of_stage(const TrainingJob& job, int stage) {
  const PipelineSchedule& schedule = schedule_of(job.plan);
  const PipelineShape shape = shape_of(job);
  std::vector<int> chunks;
  for (int c = 0; c < shape.chunks * schedule.copies(); ++c)
    chunks.push_back(schedule.virtual_stage(stage, c, shape));
  return chunks;
}

}  // namespace orrery
