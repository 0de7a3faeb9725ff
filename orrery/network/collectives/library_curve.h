// The time of a library's collective (NCCL, RCCL) over several nodes, from the tuner's latencies
// and bandwidths (nccl_tuner.h):
//
//   T = min over the pairs (algorithm, protocol) i that are offered   L + W_i + pipelining * F_i
//   L_i = start * (tuner's latency without the NIC's) + the NIC's,   L = the least L_i of trees and
//   rings: no small message takes the switch's reduction, whose latency in the tuner does not count
//   its domain's GPUs W_i = max(bytes / (width_i * B_i), bisection bound) F_i = sqrt(L_i W_i) trees
//         min(sqrt(L_i W_i), L_i)                  rings: T <= L + L_i + W_i
//         min(sqrt(L_i W_i) + sqrt(s f W_i / 16), f)   NVLSTree
//
// and where only rings are offered (all-gather, reduce-scatter, a forced ring), whose steps overlap
// their latency with the transfer of other chunks,
//
//   T = min_i sqrt(L_i^2 + W_i^2)
//
// The tuner's latencies and B_i are those of nccl_tuner.h. width_i is the width, for rings at most
// 1: the tuner is too careful with trees (over two nodes they pass more than a ring), not with
// rings, which reach the ports' bandwidth. A message starts after the latency of the quickest pair;
// the widest pair carries a long one, and fills its own pipeline meanwhile (F). NVLSTree passes a
// chunk up and down a tree of s further stages, each a reduction in a domain's switch: until the
// last stage works at all, f = s stages of the largest chunk have passed (each also 8 messages'
// latency of a NIC that is slower than NCCL's table); a message shorter than 16 such chunks is cut
// into smaller ones. That is why the time over the transfer stops growing at 0.2 ms (16 H100), 1.2
// ms (two racks) and 4.8 ms (20 racks). The three factors belong to the network and its software,
// and are fitted (across_fit.h). The tuner's own sum is 16 to 66 % low below 128 MiB.
//
// Always: T grows with bytes, and is never below the bound.
#pragma once

#include "orrery/network/collectives/cost.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {

struct LibraryCurve {
  // The values are those around which most networks lie (across_fit.h): they serve where none was
  // measured, and hold a fit of few sizes.
  double start = 1.9;       // > 0
  double width = 1.0;       // > 0; above 1 where the tuner is too careful
  double pipelining = 0.9;  // >= 0
};

// REQUIRES a pair that `forced` allows and the graph offers; bytes > 0.
CurveTime library_time(const LibraryCurve& curve, const NcclCosts& costs, Bytes bytes,
                       Seconds bound, const NcclForced& forced = {});

// The share of a time that is not transfer: d ln T / d ln start where a start delays all but the
// transfer.
double start_share(const CurveTime& time);

// Relative errors (sigma of ln(predicted/measured)) of the parts of a time.
struct PartErrors {
  double start = 0, width = 0;                // of what is not transfer, of the transfer
  double curve = 0;                           // of single sizes
  double parts(const CurveTime& time) const;  // of start and width, which all sizes have in common
  double sigma(const CurveTime& time) const;
};

// Between single ranks (all-to-all, send): grouped sends and receives over the ports, the part for
// the node's own ranks beside them (`local`).
//   L = start * (the ring's base + one hop) + nic + 1.2 us * (ranks - 1)
//   W = bytes that leave / (0.945 * bandwidth),   T = L + overlapped(W, local) + 0.4 sqrt(L W)
// The share, the step and the root's factor follow the all-to-all of 64 GPUs in SimAI's table
// (data/network/efficiency.csv); they are not fitted.
CurveTime point_to_point_time(const LibraryCurve& curve, int ranks, Seconds nic, Bytes leaving,
                              BytesPerSecond bandwidth, Seconds local);

}  // namespace orrery
