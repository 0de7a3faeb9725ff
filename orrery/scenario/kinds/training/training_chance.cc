#include "orrery/scenario/kinds/training/training_chance.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// A quantile of the draws. Draws are proportional to the time of the iteration, so that the
// quantile has the same relative error.
Metric drawn(FigureRef figure, Seconds value, const Estimate<Seconds>& iteration) {
  Estimate<Seconds> e = iteration;
  e.value = value;
  return metric(figure, e);
}

}  // namespace

ChanceResult chance_of(ChanceQuestion q, Seconds iteration, double iterations, std::int64_t gpus) {
  q.iteration = iteration;
  q.iterations = std::max(1.0, iterations);
  q.gpus = gpus;
  return training_chance(q);
}

double busy_share(const FailingRun& run, Seconds iteration, double iterations) {
  if (run.work <= Seconds(0) || run.total <= Seconds(0)) return 1;
  const Seconds done = iteration * iterations;
  return std::min(1.0, done * (1 + run.rework / run.work) / run.total);
}

void add_chance(const ChanceQuestion& q, const ChanceResult& r, const Estimate<Seconds>& iteration,
                double iterations, Point& p) {
  p.metrics.push_back(drawn("iteration_p50", r.iteration.p50, iteration));
  p.metrics.push_back(drawn("iteration_p95", r.iteration.p95, iteration));
  if (iterations <= 0) return;
  if (q.failures_per_gpu_day == kLlama3FailuresPerGpuDay)
    p.notes.push_back(
        "failures at the rate of Llama 3 405B: 419 unexpected interruptions of 16,384 H100 in 54 "
        "days");
  p.metrics.push_back(drawn("time_to_train_p5", r.total.p5, iteration));
  p.metrics.push_back(drawn("time_to_train_p50", r.total.p50, iteration));
  p.metrics.push_back(drawn("time_to_train_p95", r.total.p95, iteration));
  Metric goodput = exact_metric("goodput@train", 100 * r.expected.goodput());
  goodput.origin = Origin::kAnalytical;
  p.metrics.push_back(goodput);
  if (q.failures_per_gpu_day <= 0) return;
  Metric failures = exact_metric("failures", r.expected.failures);
  failures.origin = Origin::kAnalytical;
  p.metrics.push_back(failures);
  Metric interval = exact_metric("checkpoint_interval", r.checkpoint_interval.value() / 60);
  interval.origin = Origin::kAnalytical;
  p.metrics.push_back(interval);
}

void add_preemptions(const GpuPrice& price, double gpus, TrainingQuestion& training,
                     std::vector<std::string>& notes) {
  if (!price.preemptions_per_day) return;
  if (!training.chance) {
    notes.push_back(
        "spot machines that are taken away are not counted: chance (failures) is not asked for");
    return;
  }
  training.chance->failures_per_gpu_day += *price.preemptions_per_day / gpus;
  notes.push_back(
      fmt::format("spot machines of {} GPUs that are taken away count as failures", gpus));
}

}  // namespace orrery
