// The order of ZB-H1 and ZB-H2: 1F1B with the gradients of weights apart and put off.
#pragma once

#include <vector>

#include "orrery/training/schedules/schedule.h"

namespace orrery {

// `first` forwards, then a forward and an input gradient in turn; the gradient of weights follows
// the input gradient of `late` micro-batches later. REQUIRES 0 <= first <= micro_batches, late >=
// 0.
void deferred_weight_gradient_order(int first, int late, int micro_batches,
                                    std::vector<PipelineTask>& tasks);

}  // namespace orrery
