// LoRA adapters of a service: which request uses which, and which are on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/request.h"

namespace orrery {

// Gives every request one of `adapters` adapters; turns of one conversation have the same. The n-th
// most popular adapter is chosen with a probability proportional to n^-alpha. REQUIRES adapters >
// 0.
void assign_adapters(RequestLoad& load, std::int64_t adapters, double alpha, std::uint64_t seed);

// The different adapters of one step or of the running sequences, which are a handful.
class AdapterSet {
 public:
  void clear() { ids_.clear(); }
  bool has(std::int32_t adapter) const;
  // Adds an adapter; -1, the base model, is ignored.
  void add(std::int32_t adapter);
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  const std::vector<std::int32_t>& ids() const { return ids_; }

 private:
  std::vector<std::int32_t> ids_;
};

// Adapters in slots on the GPU. The least recently used adapter makes room, as in vLLM.
class AdapterSlots {
 public:
  explicit AdapterSlots(std::int64_t slots) : slots_(static_cast<std::size_t>(slots)) {}
  // Loads the step's adapters that are not on the GPU, and returns their number. REQUIRES
  // step.size() <= slots.
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
