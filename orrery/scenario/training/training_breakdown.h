// The terms of a training iteration that an answer shows: blocks of one layer, and the rows of the
// breakdown.
#pragma once

#include <optional>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// attention_block, attention_core, mlp_block and layer (ms): forward and backward pass of one
// micro-batch through one layer of the first virtual stage, all its layers' mean; mlp_of_peak: the
// MLP's products, FLOPs over time and `peak`. `terms` are of the first virtual stage;
// mlp_of_peak is as uncertain as the `whole` iteration.
void add_blocks(const Architecture& model, const TrainingJob& job,
                const std::vector<TrainingTerm>& terms, const IterationParts& parts,
                const TrainingConstants& k, double peak, const Estimate<Seconds>& whole, Point& p);

// A row for every kind of op on pipeline stage `wanted` (none: the slowest), and for what the
// iteration spends beside them, which is as uncertain as the `whole`. A stage that is not the
// slowest idles longer.
void add_rows(const TrainingJob& job, const IterationParts& parts, const IterationTime& t,
              const Estimate<Seconds>& whole, const TrainingConstants& k,
              const IterationModel& iterations, const StackTraits& stack, std::optional<int> wanted,
              Point& p);

}  // namespace orrery
