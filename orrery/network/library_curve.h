// The time of a library's collective (NCCL, RCCL) over several nodes, from the tuner's latencies
// and bandwidths (nccl_tuner.h):
//
//   T = min over the pairs (algorithm, protocol) i that are offered
//         start * L + W_i + pipelining * sqrt(start * L_i * W_i)
//   W_i = max(bytes / (width_i * B_i), bisection bound),    L = the least of all L_i
//
// and where only rings are offered (all-gather, reduce-scatter, a forced ring), whose steps overlap
// their latency with the transfer of other chunks,
//
//   T = min_i sqrt((start * L_i)^2 + W_i^2)
//
// L_i and B_i are the tuner's. width_i is the width, for rings at most 1: the tuner is too careful
// with trees (over two nodes they pass more than a ring), not with rings, which reach the ports'
// bandwidth. A message starts after the latency of the quickest pair; the widest pair carries a
// long one, and fills its own pipeline of chunks meanwhile (the square root). The three factors
// belong to the network and its software, and are fitted (across_fit.h). The tuner's own sum is 16
// to 66 % low below 128 MiB.
//
// Always: T grows with bytes, and is never below the bound.
#pragma once

#include "orrery/network/cost.h"
#include "orrery/network/nccl_tuner.h"

namespace orrery {

struct LibraryCurve {
  double start = 2.2;       // > 0
  double width = 1.05;      // > 0; above 1 where the tuner is too careful
  double pipelining = 1.0;  // >= 0
};

// REQUIRES a pair that `forced` allows and the graph offers; bytes > 0.
CurveTime library_time(const LibraryCurve& curve, const NcclCosts& costs, Bytes bytes,
                       Seconds bound, const NcclForced& forced = {});

// Between single ranks (all-to-all, send): grouped sends and receives over the ports, the part for
// the node's own ranks beside them (`local`).
//   L = start * (the ring's base + one hop) + 1.2 us * (ranks - 1),   W = bytes that leave / (0.945
//   * bandwidth) T = L + overlapped(W, local) + 0.4 sqrt(L W)
// The share, the step and the root's factor follow the all-to-all of 64 GPUs in SimAI's table
// (data/network/efficiency.csv); they are not fitted.
CurveTime point_to_point_time(const LibraryCurve& curve, int ranks, Bytes leaving,
                              BytesPerSecond bandwidth, Seconds local);

}  // namespace orrery
