// The software stacks that train, by name: what of them the workload depends on. Their constants
// are fitted (constants.h) and their memory is orrery/memory's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/workload/plan/stack_traits.h"

namespace orrery {

struct TrainingStackProfile {
  std::string_view name;
  StackTraits traits;
  // The defaults of its recipes: the ZeRO stage with several data-parallel ranks, and sequence
  // parallelism with tensor parallelism.
  int zero;
  bool sequence_parallel;
  std::string_view doc;
};

// In the order in which users are shown them.
const std::vector<TrainingStackProfile>& training_stacks();
// InputError naming the nearest.
const TrainingStackProfile& training_stack(std::string_view name);

// torch.compile, and stacks that are compiled anyway, fold what is fusible. `release`: of the
// stack, in years (stack_release_date.h). Megatron-LM adds gradients in the product's kernel and
// reduces them beside others since 2022 (the release with sequence parallelism has switches to turn
// both off).
StackTraits stack_traits(const TrainingStackProfile& stack, bool compiled,
                         std::optional<double> release = std::nullopt);

}  // namespace orrery
