// The work of a kernel by kinds: amounts that a processor does at one cost each.
//
// Multiply-adds of a 3x3 convolution with stride 1 cost less than others (Winograd's algorithm),
// those of depth-wise filters more, because a value is used few times. Convolutions whose channels
// are no multiple of four are not packed into vectors. Each kernel has a cost of its own to start.
// Networks of bytes (int8) have kinds of their own.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "orrery/edge/fusion/fused_kernel.h"

namespace orrery {

enum class EdgePrecision { kFloat, kInt8 };

struct EdgeWorkKind {
  std::string_view name;  // "winograd"
  std::string_view unit;  // of an amount: "MMAC", "M elements", "kernels"
  std::string_view about;
  // The cost of a unit that is expected without any measurement, in microseconds of a processor of
  // 20 GFLOP/s (of a GPU of 1 TFLOP/s). 1 MMAC at the full rate of such a processor costs 100 us.
  double expected_cpu, expected_gpu;
  // By which power of the arithmetic rate the cost falls.
  double falls_with_rate;
};

inline constexpr std::size_t kEdgeWorkKinds = 27;
std::span<const EdgeWorkKind, kEdgeWorkKinds> edge_work_kinds();

// Amounts of all kinds.
using EdgeWork = std::array<double, kEdgeWorkKinds>;

// The work of one kernel of a network of that precision.
EdgeWork work_of(const EdgeKernel& kernel, EdgePrecision precision);
EdgeWork work_of(std::span<const EdgeKernel> kernels, EdgePrecision precision);

}  // namespace orrery
