// The order of ZB-H1 and ZB-H2 (Qi et al. 2023): 1F1B whose weight gradients are computed in passes
// of their own, some micro-batches later.
#pragma once

#include <vector>

#include "orrery/training/schedules/schedule.h"

namespace orrery {

// Adds the tasks of a stage: `first` forwards, then a forward and a pass of input gradients in
// turn. The weight gradients of a micro-batch follow the input gradients of the micro-batch `late`
// places after it. REQUIRES 0 <= first <= micro_batches, late >= 0.
void deferred_weight_gradient_order(int first, int late, int micro_batches,
                                    std::vector<PipelineTask>& tasks);

}  // namespace orrery
