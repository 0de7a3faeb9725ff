#include "orrery/training/schedules/deferred_weight_gradients.h"

#include <algorithm>

namespace orrery {

void deferred_weight_gradient_order(int first, int late, int micro_batches,
                                    std::vector<PipelineTask>& tasks) {
  for (int k = 0; k < first; ++k) tasks.push_back({Pass::kForward, k});
  for (int k = 0; k < micro_batches; ++k) {
    if (k + first < micro_batches) tasks.push_back({Pass::kForward, k + first});
    tasks.push_back({Pass::kBackwardInput, k});
    if (k >= late) tasks.push_back({Pass::kBackwardWeight, k - late});
  }
  for (int k = std::max(0, micro_batches - late); k < micro_batches; ++k) {
    tasks.push_back({Pass::kBackwardWeight, k});
  }
}

}  // namespace orrery
