// Adapters (LoRA) of a service: which request uses which, and which are on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/request.h"

namespace orrery {

// Gives every request one of `adapters`, the next turn of a conversation that of the one before.
// `alpha`: the n-th most popular is asked for in proportion to n^-alpha; 0: all alike. REQUIRES
// adapters > 0.
void assign_adapters(RequestLoad& load, std::int64_t adapters, double alpha, std::uint64_t seed);

// The adapters of one step or of the running sequences; a handful.
class AdapterSet {
 public:
  void clear() { ids_.clear(); }
  bool has(std::int32_t adapter) const;
  // -1 (the base model) is never in the set.
  void add(std::int32_t adapter);
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  const std::vector<std::int32_t>& ids() const { return ids_; }

 private:
  std::vector<std::int32_t> ids_;
};

// Adapters on the GPU, at most `slots`; the one that was used longest ago makes room (vLLM keeps
// its slots so).
class AdapterSlots {
 public:
  explicit AdapterSlots(std::int64_t slots) : slots_(static_cast<std::size_t>(slots)) {}
  // Makes all of a step's adapters resident; how many had to be loaded. REQUIRES step.size() <=
  // slots.
  std::int64_t bring_in(const AdapterSet& step);

 private:
  struct Resident {
    std::int32_t adapter;
    std::int64_t used;  // number of the step
  };
  std::size_t slots_;
  std::vector<Resident> resident_;
  std::int64_t step_ = 0;
};

}  // namespace orrery
