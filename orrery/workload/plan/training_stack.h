// The software stacks for training, by name, with the properties on which the workload depends.
// Their fitted constants are in training/iteration/constants.h, their memory in orrery/memory.
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
  // Defaults of the stack's recipes: the ZeRO stage with several data-parallel ranks, and sequence
  // parallelism with tensor parallelism.
  int zero;
  bool sequence_parallel;
  std::string_view doc;
};

// All stacks, in the order of help texts and lists.
const std::vector<TrainingStackProfile>& training_stacks();
// The stack of that name. InputError that names the nearest one.
const TrainingStackProfile& training_stack(std::string_view name);

// The traits of a stack in one release (`release`: date in years, stack_release_date.h).
// torch.compile (`compiled`), and stacks that always compile, fuse elementwise kernels. Since 2022,
// Megatron-LM adds gradients in the kernel of the product and reduces them during other products
// (the release with sequence parallelism has switches to turn both off).
StackTraits stack_traits(const TrainingStackProfile& stack, bool compiled,
                         std::optional<double> release = std::nullopt);

}  // namespace orrery
