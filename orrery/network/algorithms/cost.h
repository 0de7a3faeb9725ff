// The time of a collective by one algorithm on one fabric: the equations, without a topology.
//
//   T = L + W + pipelining * sqrt(L * W)
//   L = latency + step * steps
//   W = volume / (bandwidth * efficiency)
//
//   T           time of the collective
//   L           time of an empty message
//   W           time that the bytes of one rank need
//   steps       number of sequential messages (CurveAlgorithm::steps)
//   volume      bytes that one rank must send (CurveAlgorithm::volume), so that W with an
//               efficiency of 1 is the least possible time
//   bandwidth   nominal bandwidth of one rank, each way
//   efficiency  reached share of it, which depends on the number of ranks
//
// The square root describes chunked pipelining between the two regimes: with a chunk size that
// balances the time to fill the pipeline against the overhead of a chunk, the cost is (sqrt(L) +
// sqrt(W))^2, which is `pipelining` = 2. It also covers the change of protocol (LL, LL128, Simple)
// with the size of the message. It halves the error of plain L + W against measured curves, on 8
// H200 from 9.5 to 3.3 % (docs/reference/network.md, section "Fitted curves").
#pragma once

#include <array>
#include <cmath>

#include "orrery/base/units.h"
#include "orrery/workload/ops/collective_algorithm.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The constants of one algorithm for one kind of collective on one fabric.
struct CostCurve {
  Seconds latency;        // of an empty message, without its steps
  Seconds step;           // of each sequential message
  double pipelining = 0;  // >= 0
  // Reached share of the nominal bandwidth with 2, 4 and 8 ranks, in (0, 1]. It is linear in
  // log2(ranks) between them, and constant beyond.
  std::array<double, 3> efficiency{1, 1, 1};

  double efficiency_at(int ranks) const;
};

// Number of sequential messages. REQUIRES an algorithm that has a curve (AlgorithmModel::kCurve).
double collective_steps(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks);

// Bytes that one rank must send for a buffer of `bytes`. REQUIRES as above.
Bytes collective_volume(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks,
                        Bytes bytes);

// Factor from algorithm bandwidth to bus bandwidth as nccl-tests defines it: 2(n-1)/n for an
// all-reduce, (n-1)/n for an all-gather, reduce-scatter or all-to-all, 1 for the others
// (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).
double bus_factor(Collective::Kind kind, int ranks);

struct CurveTime {
  Seconds latency, transfer;  // L and W
  Seconds total;              // T
};
// T from L and W.
CurveTime curve_time(Seconds latency, Seconds transfer, double pipelining);
// T of one algorithm on one fabric. REQUIRES a curve's algorithm, ranks >= 2, bandwidth > 0.
CurveTime curve_time(const CostCurve& curve, Collective::Kind kind, CollectiveAlgorithm algorithm,
                     int ranks, Bytes bytes, BytesPerSecond bandwidth);

// Time of two transfers that run at once on two fabrics, in a pipeline: (a^4 + b^4)^(1/4), a little
// more than the longer one. Two equal transfers cost 1.19, as on 16 H100 with 8x400G: 425 GB/s of
// bus bandwidth, where NVLink alone gives 470 and the ports alone 530.
Seconds overlapped(Seconds a, Seconds b);

// sqrt(a^2 + b^2), at a tenth of the time of std::hypot, which also guards against overflow of the
// squares.
inline double root_of_squares(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace orrery
