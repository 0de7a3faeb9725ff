// The job of a question about training (training_question.h), and the settings that the question
// leaves open.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The job. The number of data-parallel ranks follows from the GPUs and the other sizes, rounded
// down if these do not divide. The layers have equal shares if the question leaves the split open.
TrainingJob job_of(const TrainingQuestion& question);
// The same. Infeasible: the sizes do not divide the GPUs. InputError: the question leaves the split
// of the layers open (`split: auto`).
TrainingJob layout_of(const TrainingQuestion& question);
// Infeasible: the job's sizes do not divide `gpus`.
void check_devices(const TrainingJob& job, std::int64_t gpus);

// A setting that the question leaves open and that matters to the job, with the deviation of the
// logarithm of the iteration's time that this adds: between the stacks' fitted factors, 0.15
// (1.4 from Megatron to PyTorch on the same GPUs, docs/reference/training.md); from no to full
// recomputation a third of the work, 0.08; ZeRO stages 0.03; sequence parallelism 0.02; experts'
// dispatcher 0.05.
struct Undeclared {
  std::string_view what;
  std::string assumed;
  double deviation = 0;
};
std::vector<Undeclared> undeclared(const TrainingQuestion& question, const TrainingJob& job);

// Steps of the optimizer that the run takes; InputError: more than one of tokens, samples and
// iterations.
std::optional<double> run_steps(const TrainingQuestion& question, const TrainingJob& job);

}  // namespace orrery
