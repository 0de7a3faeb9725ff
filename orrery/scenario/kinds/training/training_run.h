// The run that repeats an iteration: its evaluations, its checkpoints and failures, its time and
// its cost.
//
// Evaluations run forward passes alone, and take the place of no step. With `chance` in the
// question the figures are means, failures and checkpoints included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/scenario/kinds/training/training_system.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/training/chance/chance.h"
#include "orrery/training/figures/training_figures.h"

namespace orrery {

// The expected time of a run.
struct ExpectedRun {
  Seconds total;
  double busy = 1;  // the share in which iterations run, and GPUs do not wait
};
// With chance in the question it is the closed form (FailingRun), where an answer has the mean of
// draws. Nothing: the question has no run.
std::optional<ExpectedRun> expected_run(const TrainingQuestion& question, const IterationTime& time,
                                        const TrainingJob& job);

// The account of a job's boards during an iteration; without power nothing is counted.
struct TrainingAccount {
  std::optional<Estimate<Watts>> power;  // of a board
  std::optional<PlantAccount> plant;
};

// The figures of the run of a job.
struct JobRun {
  std::optional<Estimate<Usd>> hour;            // of all GPUs, where the cost is asked for
  std::optional<Estimate<Seconds>> evaluation;  // all of its iterations, where there are any
  double iterations = 0;                        // steps, and evaluations by their time
  std::optional<ChanceResult> chance;           // where it is asked for
  // Absent where the question has no run, or without a power or a price.
  std::optional<double> steps;
  std::optional<Estimate<Seconds>> time;
  std::optional<Estimate<Joules>> energy;  // of all boards
  std::optional<Estimate<Usd>> cost;
  std::optional<Estimate<Watts>> power;  // of a board, in the mean of the run if there is one
};
// Adds to `notes` what the figures leave out or assume.
JobRun run_figures(const TrainingSystem& system, const TimedIteration& timed,
                   const TrainingAccount& account, std::vector<std::string>& notes);

// Counts spot machines of `gpus` GPUs that are taken away as failures of the run. Adds to `notes`
// what it did; nothing where the price has no such rate.
void add_preemptions(const GpuPrice& price, double gpus, TrainingQuestion& training,
                     std::vector<std::string>& notes);

}  // namespace orrery
