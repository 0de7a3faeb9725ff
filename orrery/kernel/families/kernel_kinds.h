// Kinds of kernel calls: what tells which kernel families may serve an op.
//
// There is one kind for each alternative of Op, and one for each value of `Kernel` of an op that
// has such a member (workload/ops/op.h). A kind is a small number, a set of kinds is a bit mask.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "orrery/workload/ops/op.h"

namespace orrery {

namespace kernel_kinds {

template <class T>
concept HasKernels = requires(const T& op) { op.kernel(); };

// Number of kinds of one op.
template <class T>
constexpr std::size_t count() {
  if constexpr (HasKernels<T>) return T::kKernels;
  return 1;
}

// The first kind of each alternative of Op, and behind the last the number of kinds.
template <class... Ops>
constexpr auto firsts(std::type_identity<std::variant<Ops...>>) {
  std::array<std::size_t, sizeof...(Ops) + 1> first{};
  std::size_t i = 0;
  ((first[i + 1] = first[i] + count<Ops>(), ++i), ...);
  return first;
}
inline constexpr auto kFirst = firsts(std::type_identity<Op>());

// Index of T among the alternatives of Op.
template <class T, class... Ops>
constexpr std::size_t index_among(std::type_identity<std::variant<Ops...>>) {
  std::size_t i = 0;
  (void)((std::is_same_v<T, Ops> || (++i, false)) || ...);
  return i;
}
template <class T>
inline constexpr std::size_t kIndex = index_among<T>(std::type_identity<Op>());

// Adds the value of `Kernel` that an op has.
template <class... Ops>
std::size_t offset(const std::variant<Ops...>& op) {
  std::size_t sum = 0;
  const auto add = [&]<class T>(std::type_identity<T>) {
    if constexpr (HasKernels<T>) {
      if (const T* held = std::get_if<T>(&op)) sum = static_cast<std::size_t>(held->kernel());
    }
  };
  (add(std::type_identity<Ops>()), ...);
  return sum;
}

}  // namespace kernel_kinds

inline constexpr std::size_t kKernelKinds = kernel_kinds::kFirst.back();

// The kind of a call.
inline std::size_t kernel_kind(const Op& op) {
  return kernel_kinds::kFirst[op.index()] + kernel_kinds::offset(op);
}

// A set of kinds, one bit each.
using KernelKinds = std::uint32_t;
static_assert(kKernelKinds <= 32);

// All calls of an op: kinds_of<Embedding>().
template <class T>
constexpr KernelKinds kinds_of() {
  constexpr std::size_t first = kernel_kinds::kFirst[kernel_kinds::kIndex<T>];
  return ((KernelKinds{1} << kernel_kinds::count<T>()) - 1) << first;
}
// Some calls of an op: kinds_of<Gemm>(Gemm::Kernel::kBatched, Gemm::Kernel::kBatchedFp32).
template <class T, class... Kernels>
  requires(sizeof...(Kernels) > 0)
constexpr KernelKinds kinds_of(Kernels... kernels) {
  constexpr std::size_t first = kernel_kinds::kFirst[kernel_kinds::kIndex<T>];
  return ((KernelKinds{1} << (first + static_cast<std::size_t>(kernels))) | ...);
}

}  // namespace orrery
