#include "orrery/scenario/kinds/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/scenario/kinds/training/training_layout.h"

namespace orrery {
namespace {

// The time of an evaluation, in iterations.
double evaluation_of(const TrainingQuestion& q, const IterationTime& t) {
  return static_cast<double>(q.eval_iterations) * forward_time(t) / t.total;
}

// The iterations of a run of so many steps, evaluations by their time.
double iterations_of(const TrainingQuestion& q, double steps, const IterationTime& t) {
  if (q.eval_interval <= 0) return steps;
  return steps + std::floor(steps / static_cast<double>(q.eval_interval)) * evaluation_of(q, t);
}

// The chance of a run on this job. An iteration is nominal, without what chance adds: a stated
// variability takes the place of the fitted one.
ChanceQuestion chance_question(ChanceQuestion q, const IterationTime& t, Seconds total,
                               double iterations, const TrainingJob& job) {
  const bool fitted = q.variability.gpu == 0 && q.variability.step == 0;
  q.iteration = total - (fitted ? Seconds(0) : t.stragglers);
  q.iterations = std::max(1.0, iterations);
  q.gpus = job.plan.devices();
  return q;
}

// The share of the expected time of a run in which iterations are done or, after a failure, done
// again, 0 to 1. In the rest its GPUs wait: for checkpoints, restarts, slow ranks, degraded links
// and late data. `iteration`: nominal, of which the run has `iterations`.
double busy_share(const FailingRun& run, Seconds iteration, double iterations) {
  if (run.work <= Seconds(0) || run.total <= Seconds(0)) return 1;
  const Seconds done = iteration * iterations;
  return std::min(1.0, done * (1 + run.rework / run.work) / run.total);
}

// The price of an hour of all GPUs, with the electricity of owned ones; nothing: not asked for.
std::optional<Estimate<Usd>> price_of_hour(const GpuPrice* price, double gpus,
                                           const TrainingAccount& account,
                                           std::vector<std::string>& notes) {
  if (price == nullptr) return std::nullopt;
  if (!price->electricity) return price->hour.scaled(gpus);
  if (!account.plant) {
    notes.emplace_back("the costs are without electricity: the GPUs' power is not known");
    return price->hour.scaled(gpus);
  }
  return account.plant->with_electricity(*price, {*account.power, gpus, 0});
}

}  // namespace

std::optional<ExpectedRun> expected_run(const TrainingQuestion& question, const IterationTime& t,
                                        const TrainingJob& job) {
  const std::optional<double> steps = run_steps(question, job);
  if (!steps) return std::nullopt;
  const double iterations = iterations_of(question, *steps, t);
  if (!question.chance) return ExpectedRun{t.total * iterations};
  const FailingRun expected =
      expected_chance(chance_question(*question.chance, t, t.total, iterations, job)).expected;
  return ExpectedRun{expected.total, busy_share(expected, t.total, iterations)};
}

JobRun run_figures(const TrainingSystem& system, const TimedIteration& timed,
                   const TrainingAccount& account, std::vector<std::string>& notes) {
  const TrainingQuestion& q = system.question();
  const TrainingSetting& s = system.setting();
  const Estimate<Seconds>& iteration = timed.whole;
  const double gpus = real(timed.job.plan.devices());
  JobRun out;
  out.hour = price_of_hour(s.price, gpus, account, notes);
  out.steps = run_steps(q, timed.job);
  if (out.steps) out.iterations = iterations_of(q, *out.steps, timed.time);
  if (out.steps && q.eval_interval > 0)
    out.evaluation = iteration.scaled(evaluation_of(q, timed.time));
  double busy = 1;
  if (q.chance) {
    out.chance = training_chance(
        chance_question(*q.chance, timed.time, iteration.value, out.iterations, timed.job));
    busy = busy_share(out.chance->expected, iteration.value, out.iterations);
    if (out.iterations > 0 && q.chance->failures_per_gpu_day == kLlama3FailuresPerGpuDay)
      notes.emplace_back(
          "failures at the rate of Llama 3 405B: 419 unexpected interruptions of 16,384 H100 in 54 "
          "days");
  }
  out.power = account.power;
  if (!out.steps) return out;
  out.time = iteration.scaled(out.iterations);
  if (out.chance) out.time->value = out.chance->total.mean;
  std::optional<Estimate<Usd>> hour = out.hour;
  if (out.power && busy < 1) {
    out.power = power_of_run(system.facts().step_power(), s.gpu, *account.power, busy);
    if (hour && account.plant && s.price->electricity)
      hour = account.plant->with_electricity(*s.price, {*out.power, gpus, 0});
  }
  if (out.power) out.energy = energy_of(*out.power, out.time->scaled(gpus));
  if (hour) out.cost = cost_of(*hour, *out.time);
  return out;
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
