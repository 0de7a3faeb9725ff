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
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

using LayersOfStages = std::vector<std::int64_t>;  // of the virtual stages in model order

// The shortest of the splits of this form. `time` tells how long the iteration of a split takes. It
// is asked about each split once, for some tens of splits and pp more, all of which add up to
// `layers`. REQUIRES layers > 0, pp > 0, vp > 0.
LayersOfStages best_split(int layers, int pp, int vp,
                          const std::function<Seconds(const LayersOfStages&)>& time);

}  // namespace orrery
