// The part of a training answer that a search over layouts asks for.
#include <algorithm>
#include <cmath>

#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/kinds/training/training_answer.h"
#include "orrery/scenario/kinds/training/training_chance.h"

namespace orrery {

TrainingMemory TrainingAnswerer::memory(const TrainingJob& job) const {
  return training_memory(setting_.model, job, memory_, setting_.gpu);
}

double TrainingAnswerer::fits(const TrainingMemory& m) const {
  return fit_probability(m, memory_.fitted.error);
}

TrainingAnswerer::Timed TrainingAnswerer::time(const TrainingJob& job,
                                               const PowerKnobs& boards) const {
  const auto on = machine(job.plan.devices());
  const TrainingConstants k = constants(job, release_);
  const IterationClock clock = clock_of(job, k, {*on, boards, Seconds(0)});
  const Gpu& gpu = setting_.gpu;
  const auto timed = [&](const KernelModel& kernels) -> Timed {
    const IterationModel iterations(setting_.model, on->cluster, kernels, *on->network);
    const IterationParts parts = iterations.parts(job, traits_);
    const IterationTime t = iteration_time(parts, k, job);
    const FlopsPerSecond peak = gpu.peak(gpu.compute_dtype(job.precision.compute));
    return {t, clock.steps(work_of(t, executed_flops(parts, job), peak), t.total)};
  };
  if (clock.clock.slowdown <= 1) return timed(setting_.kernels);
  return timed(ClockedKernels(setting_.kernels, clock.clock.slowdown));
}

std::optional<TrainingAnswerer::RunTime> TrainingAnswerer::run(const IterationTime& t,
                                                               const TrainingJob& job) const {
  const std::optional<double> steps = run_steps(question_, job);
  if (!steps) return std::nullopt;
  double iterations = *steps;
  if (question_.eval_interval > 0)
    iterations += std::floor(*steps / static_cast<double>(question_.eval_interval)) *
                  (static_cast<double>(question_.eval_iterations) * forward_time(t) / t.total);
  if (!question_.chance) return RunTime{t.total * iterations};
  ChanceQuestion q = *question_.chance;
  const bool fitted = q.variability.gpu == 0 && q.variability.step == 0;
  q.iteration = t.total - (fitted ? Seconds(0) : t.stragglers);
  q.iterations = std::max(1.0, iterations);
  q.gpus = job.plan.devices();
  const FailingRun expected = expected_chance(q).expected;
  return RunTime{expected.total, busy_share(expected, t.total, iterations)};
}

}  // namespace orrery
