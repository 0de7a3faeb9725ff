#include "orrery/scenario/kinds/training/training_run.h"

#include <algorithm>
#include <cmath>

#include "orrery/scenario/kinds/training/training_chance.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_plant.h"
#include "orrery/training/chance/chance.h"

namespace orrery {
namespace {

// The evaluations of a run of so many steps.
double evaluations(const TrainingQuestion& q, double steps) {
  return q.eval_interval > 0 ? std::floor(steps / static_cast<double>(q.eval_interval)) : 0;
}

// An iteration without what chance adds. A stated variability takes the place of the fitted one.
Seconds nominal_iteration(const ChanceQuestion& chance, Seconds total, Seconds stragglers) {
  const bool fitted = chance.variability.gpu == 0 && chance.variability.step == 0;
  return total - (fitted ? Seconds(0) : stragglers);
}

// A run whose chance is drawn.
struct DrawnRun {
  std::optional<double> steps;  // none if the question has no run
  double iterations = 0;        // steps, and evaluations by their time
  std::optional<ChanceResult> chance;
  double busy = 1;  // busy_share
};

// Adds evaluation.
DrawnRun drawn_run(const TrainingQuestion& q, const TimedIteration& timed, Point& p) {
  const Estimate<Seconds>& iteration = timed.whole;
  const std::optional<double> steps = run_steps(q, timed.job);
  DrawnRun out{steps, steps.value_or(0), {}};
  if (steps && q.eval_interval > 0) {
    const double passes = static_cast<double>(q.eval_iterations);
    const Seconds evaluation = passes * forward_time(timed.time);
    p.metrics.push_back(metric("evaluation", iteration.scaled(evaluation / iteration.value)));
    out.iterations += evaluations(q, *steps) * (evaluation / iteration.value);
  }
  if (q.chance) {
    const Seconds nominal = nominal_iteration(*q.chance, iteration.value, timed.time.stragglers);
    out.chance = chance_of(*q.chance, nominal, out.iterations, timed.job.plan.devices());
    out.busy = busy_share(out.chance->expected, iteration.value, out.iterations);
  }
  return out;
}

// The price of an hour of all GPUs, with the electricity of owned ones; nothing: not asked for.
std::optional<Estimate<Usd>> price_of_hour(const GpuPrice* price, double gpus,
                                           const TrainingAccount& account, Point& p) {
  if (price == nullptr) return std::nullopt;
  if (!price->electricity) return price->hour.scaled(gpus);
  if (!account.plant) {
    p.notes.emplace_back("the costs are without electricity: the GPUs' power is not known");
    return price->hour.scaled(gpus);
  }
  return account.plant->with_electricity(*price, {*account.power, gpus, 0});
}

// The rates of a run in its mean.
struct RunRates {
  std::optional<Estimate<Watts>> power;  // of a board
  std::optional<Estimate<Usd>> hour;     // of all GPUs
};

// Adds time_to_train, gpu_hours, energy and cost, and the metrics of chance.
void add_figures(const ChanceQuestion* question, const DrawnRun& of, const TimedIteration& timed,
                 const RunRates& rates, Point& p) {
  const std::optional<ChanceResult>& chance = of.chance;
  if (of.steps) {
    Estimate<Seconds> run = timed.whole.scaled(of.iterations);
    if (chance) run.value = chance->total.mean;
    p.metrics.push_back(metric("time_to_train", run));
    const Estimate<Seconds> of_gpus = run.scaled(static_cast<double>(timed.job.plan.devices()));
    p.metrics.push_back(metric("gpu_hours", of_gpus));
    if (rates.power) p.metrics.push_back(metric("energy@train", energy_of(*rates.power, of_gpus)));
    if (rates.hour) p.metrics.push_back(metric("cost", cost_of(*rates.hour, run)));
  }
  if (chance) add_chance(*question, *chance, timed.whole, of.iterations, p);
}

}  // namespace

std::optional<ExpectedRun> expected_run(const TrainingQuestion& question, const IterationTime& t,
                                        const TrainingJob& job) {
  const std::optional<double> steps = run_steps(question, job);
  if (!steps) return std::nullopt;
  double iterations = *steps;
  if (question.eval_interval > 0)
    iterations += evaluations(question, *steps) *
                  (static_cast<double>(question.eval_iterations) * forward_time(t) / t.total);
  if (!question.chance) return ExpectedRun{t.total * iterations};
  ChanceQuestion q = *question.chance;
  q.iteration = nominal_iteration(q, t.total, t.stragglers);
  q.iterations = std::max(1.0, iterations);
  q.gpus = job.plan.devices();
  const FailingRun expected = expected_chance(q).expected;
  return ExpectedRun{expected.total, busy_share(expected, t.total, iterations)};
}

void add_run(const TrainingSystem& system, const TimedIteration& timed,
             const TrainingAccount& account, Point& p) {
  const TrainingQuestion& q = system.question();
  const TrainingSetting& s = system.setting();
  const auto& [power, plant] = account;
  const double gpus = real(timed.job.plan.devices());
  const std::optional<Estimate<Usd>> hour = price_of_hour(s.price, gpus, account, p);
  if (hour) p.metrics.push_back(metric("cost_per_hour", *hour));
  const DrawnRun run = drawn_run(q, timed, p);
  RunRates mean{power, hour};
  if (power && run.steps && run.busy < 1) {
    mean.power = power_of_run(system.facts().step_power(), s.gpu, *power, run.busy);
    if (hour && plant && s.price->electricity)
      mean.hour = plant->with_electricity(*s.price, {*mean.power, gpus, 0});
  }
  add_figures(q.chance ? &*q.chance : nullptr, run, timed, mean, p);
  if (plant && s.plant)
    add_training_plant(*plant,
                       {{*power, gpus, 0}, s.knobs.limit.value_or(*s.gpu.power), mean.power}, p);
}

}  // namespace orrery
