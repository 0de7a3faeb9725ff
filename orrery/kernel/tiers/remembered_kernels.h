// A kernel model that remembers what it was asked: steps of a simulation ask for the same products
// and elementwise work again and again, whatever their contexts are.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

// The times of `kernels`, which it borrows. Unlike other models, predict() is not thread-safe and
// allocates.
class RememberedKernels : public KernelModel {
 public:
  explicit RememberedKernels(const KernelModel& kernels);

  KernelTime predict(const Op& op) const override;
  KernelTime predict_repeated(const Op& op) const override { return kernels_.predict_repeated(op); }
  std::string provenance(const Op& op) const override { return kernels_.provenance(op); }

 private:
  struct Known {
    Op op;
    KernelTime time;
    std::size_t place;  // in places_
  };
  const KernelModel& kernels_;
  mutable std::vector<std::uint32_t> places_;  // in known_, from 1, by a hash of the op; 0: none
  mutable std::vector<Known> known_;
  mutable std::size_t oldest_ = 0;  // of known_, once it has as many as it may have
};

// Memories of one kernel model for users that follow each other, or work side by side.
class KernelMemories {
 public:
  // A memory that nobody uses; give it back.
  std::unique_ptr<RememberedKernels> take(const KernelModel& kernels);
  void give_back(std::unique_ptr<RememberedKernels> memory);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RememberedKernels>> unused_;
};

}  // namespace orrery
