// The terms of a training iteration that an answer shows: blocks of one layer, and the rows of the
// breakdown.
#pragma once

#include <optional>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The time of one iteration, and what it was made from. Everything is borrowed.
struct TimedIteration {
  const TrainingJob& job;
  const StackTraits& stack;
  const IterationModel& iterations;
  const IterationParts& parts;
  const IterationTime& time;
  const TrainingConstants& constants;
  const Estimate<Seconds>& whole;  // its time with the error of all that it consists of
};

// Adds the metrics attention_block, attention_core, mlp_block and layer (ms): the forward and
// backward pass of one micro-batch through one layer, as the mean over the layers of the first
// virtual stage that has a layer. Adds mlp_of_peak: the FLOPs of the MLP's products over their time
// and `peak` (FLOP/s), as uncertain as the whole iteration.
void add_blocks(const Architecture& model, const TimedIteration& timed, double peak, Point& p);

// Adds a row for every kind of op on pipeline stage `wanted` (none: the slowest), and a row for
// every other part of the iteration, which is as uncertain as the whole. A stage that is not the
// slowest idles longer.
void add_rows(const TimedIteration& timed, std::optional<int> wanted, Point& p);

}  // namespace orrery
