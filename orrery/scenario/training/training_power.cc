#include "orrery/scenario/training/training_power.h"

namespace orrery {

StepWork work_of(const IterationTime& time, Flops flops, FlopsPerSecond peak) {
  Seconds moved = time.optimizer, links = time.sharding + time.sends + time.reduce + time.gather;
  for (const TrainingCost cost : {TrainingCost::kElementwise, TrainingCost::kCasts})
    moved += time.work[at(cost)];
  for (const TrainingCost cost :
       {TrainingCost::kTensor, TrainingCost::kContext, TrainingCost::kExpertExchange})
    links += time.work[at(cost)];
  Seconds kernels = moved;
  for (const TrainingCost cost :
       {TrainingCost::kProducts, TrainingCost::kAttention, TrainingCost::kAttentionBackward,
        TrainingCost::kExperts, TrainingCost::kHead})
    kernels += time.work[at(cost)];
  return {time.total, kernels, links, flops / peak, moved};
}

}  // namespace orrery
