// The layers of the virtual stages of a pipeline, chosen by the predicted times of its stages
// (`split: auto`).
//
// Megatron's flags (pipeline_split.h) count the embedding and the LM head as one layer each,
// whatever they take, and refuse numbers of layers that do not divide. Here the first and the last
// virtual stage have numbers of their own, and the virtual stages between them have equal ones, of
// which a block of neighbours has one layer more if they do not divide. These two numbers and the
// place of the block are varied one after the other, as long as the iteration in closed form
// (iteration.h) becomes shorter. Memory has no part in the choice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

using LayersOfStages = std::vector<std::int64_t>;  // of the virtual stages in model order

// The shortest of the splits of this form. `time` tells how long the iteration of a split takes. It
// is asked about each split once, for some tens of splits and pp more, all of which add up to
// `layers`. REQUIRES layers > 0, pp > 0, vp > 0.
LayersOfStages best_split(int layers, int pp, int vp,
                          const std::function<Seconds(const LayersOfStages&)>& time);

// "nanotron divides layers by parameters: 5,4,4,5,4,4,4,2 (split gives others)". REQUIRES a job of
// one chunk a stage that check_job accepts.
std::string balanced_split_note(const std::string& stack, const Architecture& model,
                                const TrainingPlan& plan);

}  // namespace orrery
