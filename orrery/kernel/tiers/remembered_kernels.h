// A kernel model that remembers what it was asked: steps of a simulation ask for the same products
// and elementwise work again and again, whatever their contexts are.
#pragma once

#include <cstdint>
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

}  // namespace orrery
