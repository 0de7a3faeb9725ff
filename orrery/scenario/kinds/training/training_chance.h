// The effect of variability, failures and checkpoints on an answered training point: metrics
// iteration_p50, iteration_p95 and, with tokens, time_to_train_p5, _p50, _p95, goodput, failures,
// checkpoint_interval.
#pragma once

#include "orrery/energy/account/price_book.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/training/chance/chance.h"

namespace orrery {

// The distributions of a run of `iterations` nominal iterations, 0 if no run was asked for, on
// `gpus` GPUs. REQUIRES what training_chance does of the rest of the question.
ChanceResult chance_of(ChanceQuestion question, Seconds iteration, double iterations,
                       std::int64_t gpus);

// The share of the expected time of a run in which iterations are done or, after a failure, done
// again, 0 to 1. In the rest its GPUs wait: for checkpoints, restarts, slow ranks, degraded links
// and late data. `iteration`: nominal, of which the run has `iterations`.
double busy_share(const FailingRun& run, Seconds iteration, double iterations);

// Adds the metrics. `iteration`: nominal, with its error. A quantile of the draws has the same
// relative interval and origin, because chance stretches iterations. `iterations` as above.
void add_chance(const ChanceQuestion& question, const ChanceResult& result,
                const Estimate<Seconds>& iteration, double iterations, Point& point);

// Counts spot machines of `gpus` GPUs that are taken away as failures of the run. Adds to `notes`
// what it did; nothing where the price has no such rate.
void add_preemptions(const GpuPrice& price, double gpus, TrainingQuestion& training,
                     std::vector<std::string>& notes);

}  // namespace orrery
