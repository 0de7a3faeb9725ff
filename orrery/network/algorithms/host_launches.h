// How the host launches the kernels of a collective, and what that adds to the time of a call.
//
// Calls that follow each other form a pipeline of two stages, the launch on the host and the kernel
// on the GPU. A call therefore takes the longer one of
//
//   the time of the kernels      that of NetworkModel::predict
//   gpus_per_thread * launch     the launches that one thread of the host does for a call
//
// One thread for each GPU is the usual way (processes with one GPU, `nccl-tests -t 8`), and the
// kernels are the longer part there. A thread that launches for all eight GPUs of a node
// (`nccl-tests -g 8`) takes 33 us for each call, which is longer than most kernels below 1 MiB.
// Kernels that are replayed from a CUDA graph take no launches of their own.
//
// The tables of collectives were measured with eager launches and one thread for each GPU. A part
// of the time of their small messages is the host's (table_hosts.h), and is not in a time from a
// graph. How large it is was inferred and not measured, so that the interval of such a time reaches
// down by one launch.
#pragma once

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

struct HostLaunches {
  bool graph = false;       // replayed from a CUDA graph
  int gpus_per_thread = 1;  // > 0; of no effect with a graph
  Seconds in_tables{};      // the host's part in the time of the kernels

  // Whether the times of the tables hold as they are.
  bool usual() const { return !graph && gpus_per_thread == 1; }
};

// The time of one launch of a collective's kernel. A thread that launches for 2 to 8 A100 takes
// 10.0 to 33.7 us for an all-reduce of at most 128 bytes, 4 us more for each GPU
// (https://github.com/NVIDIA/nccl-tests/issues/123).
inline constexpr Seconds kLaunchOfKernel = microseconds(4.0);

// The time of a call whose kernels take `kernels`.
Estimate<Seconds> launched(const Estimate<Seconds>& kernels, const HostLaunches& launches);

}  // namespace orrery
