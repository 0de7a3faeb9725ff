// Kernels of a trace that the traced GPU cannot have run as the trace says.
//
// A product or fused attention whose recorded shapes ask for more FLOPs a second than the data
// sheet's peak did other work than recorded, or the trace is of another GPU. All kernels that one
// cpu_op launched share its FLOPs. A predicted ratio of two GPUs is for the recorded work, so that
// a what-if about such a kernel is wrong by a factor of the order of the excess: the logarithm of
// the excess is a further error of the kernel's time.
#pragma once

#include <string>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/replay/trace_graph.h"

namespace orrery {

// FLOPs over the peak up to which a kernel counts as possible: clocks above the data sheet's.
inline constexpr double kMostOfPeak = 1.1;

struct TraceLimits {
  // For each node of the graph the rate over the peak, where it is above kMostOfPeak; 1 elsewhere.
  std::vector<double> excess;
  std::size_t kernels = 0;  // that are too fast
  double share = 0;         // of the time of all kernels, 0 to 1
  double most = 1;          // the greatest excess, and the op that has it
  std::string worst;

  // A sentence that says so. REQUIRES kernels > 0.
  std::string note(const std::string& gpu) const;
};

// fp32 products count against the peak of tf32 where the GPU has it, since PyTorch may use either.
TraceLimits trace_limits(const KinetoTrace& trace, const TraceGraph& graph, const Gpu& gpu);

}  // namespace orrery
