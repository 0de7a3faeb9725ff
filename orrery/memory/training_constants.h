// The memory constants of a training stack: the tensors and buffers that it keeps beyond what the
// model and the plan imply (StackMemory, from the stack's file in catalog/training/stacks), and
// constants that are fitted on measured jobs and are the same for all stacks
// (catalog/training/memory-fitted.yaml, written by `orrery fit training-memory`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {

// How far predicted memory is from real memory. Buffers of the driver and of libraries are wrong by
// gigabytes on any job, tensors by a share of their size.
struct MemoryError {
  double relative = 0.08;         // standard deviation as a share of the size
  Bytes absolute = gigabytes(2);  // standard deviation of what does not grow with the size

  // The standard deviation of a predicted size, and as a share of it. The share is at most 0.5, the
  // largest error of a measured row that the fit counts.
  Bytes deviation(Bytes size) const;
  double share(Bytes size) const;
};

struct TrainingMemoryConstants : StackMemory {
  std::string name;  // of the stack

  // The default values are the priors of the fit.
  struct Fitted {
    // Measured activations, divided by the tensors that saved_activations.h counts.
    double factor = 1;
    // Memory that the allocator reserves but no tensor uses, divided by the activations, logits and
    // buckets.
    double fragmentation = 0.1;
    Bytes context = gigabytes(0.8);  // driver context and libraries
    MemoryError error;
  } fitted;
};

// The text of memory-fitted.yaml.
std::string to_yaml(const TrainingMemoryConstants::Fitted& fitted, std::string_view recipe);

// The constants of a stack. A name that the bundle does not have gets those of hf: eager PyTorch.
// Throws as check_stack_file does.
TrainingMemoryConstants load_training_memory(std::string_view stack, const Bundle& bundle);
// The constants of all stacks, in the order of load_training_stacks.
std::vector<TrainingMemoryConstants> load_training_memory(const Bundle& bundle);

}  // namespace orrery
