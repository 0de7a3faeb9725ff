// The points of a question about training (training_question.h): one job for each combination of
// its swept sizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/training_question.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The layout of a question without sweeps. InputError: several. Infeasible: the sizes do not divide
// the GPUs.
TrainingJob only_layout(const TrainingQuestion& question);

// The facts that all points of a question share.
struct TrainingSetting {
  const Architecture& model;
  const Gpu& gpu;
  std::string node;  // empty: the GPU's usual one
  const KernelModel& kernels;
  const Bundle& bundle;
  bool breakdown = true;
  bool timeline = false;  // fill Point::timeline, event by event
  bool bounds = false;    // fill Point::bounds
};

// What a question leaves unsaid of the above, for a job that it matters to, and by how much (a
// deviation of the logarithm of the iteration's time): between the stacks' fitted factors, 0.15
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

std::vector<Point> answer_training(const TrainingQuestion& question,
                                   const TrainingSetting& setting);

}  // namespace orrery
