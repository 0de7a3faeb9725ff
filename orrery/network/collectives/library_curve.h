// The time of a library's collective (NCCL, RCCL) on several nodes, from the latencies and
// bandwidths of the tuner (nccl_tuner.h) and three fitted factors.
//
//   T = min_i ( L + W_i + pipelining * F_i )
//
//   i     a pair (algorithm, protocol) that NCCL offers
//   L_i = start * (the tuner's latency without the NIC's) + the NIC's latency
//   L   = the least L_i of trees and rings
//   W_i = max( bytes / (width_i * B_i), bisection bound ),   B_i the tuner's bandwidth
//   F_i = sqrt(L_i W_i)                                  for a tree
//         min( sqrt(L_i W_i), L_i )                      for a ring
//         min( sqrt(L_i W_i) + sqrt(s f W_i / 16), f )   for an NVLSTree
//   s, f  the further stages that a chunk passes, and the time that fills them (NcclCost)
//
// Where only rings are on offer (all-gather, reduce-scatter, a forced ring), the steps of a ring
// overlap their latency with the transfer of other chunks:
//
//   T = min_i sqrt(L_i^2 + W_i^2)
//
// PAT, which all-gathers and reduce-scatters of single ranks may take instead, has its own start,
// and the rings beside it are as quick as without it:
//
//   T = min( L_PAT + W_PAT + pipelining * sqrt(L_PAT W_PAT), the rings' )
//
// A message starts after the latency of the quickest pair. The pair with the most bandwidth carries
// a long message, and fills its own pipeline meanwhile; F_i is the time for that. L leaves out
// reductions in the node's switch, whose latency in the tuner does not count the GPUs of the
// domain: no small message takes one. width_i is the factor `width`, limited to 1 for rings: the
// tuner underestimates trees (over two nodes they carry more than a ring), but rings reach the
// bandwidth of the ports.
//
// An NVLSTree passes a chunk up and down a tree of s further stages, each a reduction in the switch
// of a domain. The last stage starts after f, when s stages of the largest chunk have passed. A
// message shorter than 16 such chunks is cut into smaller ones. So the time beyond the transfer
// stops growing at 0.2 ms (16 H100), 1.2 ms (two racks) and 4.8 ms (20 racks).
//
// T grows with bytes and is never below the bisection bound.
#pragma once

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {

// The factors of a network and its software, fitted by across_fit.h. The defaults are the values
// around which most networks lie: they serve where none was measured, and hold a fit of few sizes.
struct LibraryCurve {
  double start = 1.9;       // of the tuner's latency; > 0
  double width = 1.0;       // of the tuner's bandwidth; > 0, above 1 where it is underestimated
  double pipelining = 0.9;  // of F; >= 0
};

// T and its parts. REQUIRES bytes > 0 and a pair in `costs` that `forced` allows.
CurveTime library_time(const LibraryCurve& curve, const NcclCosts& costs, Bytes bytes,
                       Seconds bound, const ForcedChoice& forced = {});

// The share of a time that is not transfer, in [0, 1]: d ln T / d ln start, where a longer start
// delays everything but the transfer.
double start_share(const CurveTime& time);

// Relative errors of the parts of a time: standard deviations of ln(predicted / measured).
struct PartErrors {
  double start = 0;  // of what is not transfer
  double width = 0;  // of the transfer
  double curve = 0;  // of a single message size
  // The error that all sizes have in common: of start and width, each weighted by its share.
  double parts(const CurveTime& time) const;
  double sigma(const CurveTime& time) const;  // parts and curve, in quadrature
};

// An all-to-all or a send across nodes: grouped sends and receives between single ranks.
struct PointToPoint {
  int ranks = 2;
  Seconds nic;               // NcclGraph::nic_latency
  Bytes leaving;             // bytes of one rank that leave its node
  BytesPerSecond bandwidth;  // of one rank's share of the ports
  Seconds local;             // transfer to the node's own ranks, at the same time
};
// T = L + overlapped(W, local) + 0.4 sqrt(L W)
//   L = start * (base latency of a ring with LL + one hop) + nic + 1.2 us * (ranks - 1)
//   W = leaving / (0.945 * bandwidth)
// The share of the ports, the time for each peer and the factor of the root follow the all-to-all
// of 64 GPUs in SimAI's public table of efficiencies (docs/network.md, "Between nodes"); no fit
// uses them.
CurveTime point_to_point_time(const LibraryCurve& curve, const NcclTables& tables,
                              const PointToPoint& exchange);

}  // namespace orrery
