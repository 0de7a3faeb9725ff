// The memory of a simulation's steps: the times of ops that were asked before, and the parts of
// steps that depend on their numbers of tokens and outputs alone
// (workload/inference/program_parts.h). Steps that carry prompts are as many as requests, and
// seldom two are equal; most have a number of tokens that another one had.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "orrery/kernel/tiers/remembered_kernels.h"

namespace orrery {

class RememberedParts;

// The memory of one step model (StepModel::with). Not thread-safe.
class StepMemory {
 public:
  // Borrows `kernels`, those of the step model.
  explicit StepMemory(const KernelModel& kernels);
  ~StepMemory();

  const KernelModel& kernels() const { return kernels_; }
  RememberedParts& parts() { return *parts_; }

 private:
  RememberedKernels kernels_;
  std::unique_ptr<RememberedParts> parts_;
};

// Memories of one step model for users that follow each other, or work side by side. Thread-safe.
class StepMemories {
 public:
  // A memory that nobody uses; give it back.
  std::unique_ptr<StepMemory> take(const KernelModel& kernels);
  void give_back(std::unique_ptr<StepMemory> memory);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<StepMemory>> unused_;
};

}  // namespace orrery
