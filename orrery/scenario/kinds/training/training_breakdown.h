// The rows of a training iteration's breakdown.
#pragma once

#include <optional>

#include "orrery/scenario/answer/answer.h"
#include "orrery/training/figures/training_figures.h"

namespace orrery {

// Adds a row for every kind of op on pipeline stage `wanted` (none: the slowest), and a row for
// every other part of the iteration, which is as uncertain as the whole. A stage that is not the
// slowest idles longer.
void add_rows(const TimedIteration& timed, std::optional<int> wanted, Point& p);

}  // namespace orrery
