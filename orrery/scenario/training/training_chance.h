// The effect of variability, failures and checkpoints on an answered training point: metrics
// iteration_p50, iteration_p95 and, with tokens, time_to_train_p5, _p50, _p95, goodput, failures,
// checkpoint_interval.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/training/chance/chance.h"

namespace orrery {

// `iteration`: nominal, with what the model errs on it: a quantile of the draws has the same
// relative interval and origin, since chance stretches iterations. `iterations` of the run, 0 if
// none was asked for. Adds metrics and notes. REQUIRES what training_chance does of the rest.
void add_chance(ChanceQuestion question, const Estimate<Seconds>& iteration, double iterations,
                std::int64_t gpus, Point& point);

}  // namespace orrery
