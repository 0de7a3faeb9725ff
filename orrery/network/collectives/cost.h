// The equations of a collective's time, pure and without topology.
//
//   T = L + W + pipelining * sqrt(L * W)
//   L = latency + step * steps       steps: the sequential messages of the algorithm
//   W = volume / (bandwidth * efficiency(ranks))
//
// The square root is what chunked pipelining gives between the two regimes: with a chunk size that
// balances fill time against overhead the cost is (sqrt(L) + sqrt(W))^2, and `pipelining` = 2 would
// be that case. It also stands for the change of protocol (LL, LL128, Simple) with the message
// size. Against measured curves it halves the error of plain L + W (8x H200: 9.5 -> 3.3 %,
// ../shared/reference/network.md).
//
// Volumes are what one rank must send, so that W with efficiency 1 is the least possible time:
//   ring all-reduce 2(n-1)/n S;  two-shot the same;  one-shot (n-1) S
//   in-network S, and beyond 8 ranks 8/7 (n-1)/n S: its bus bandwidth stays, as NCCL counts
//     (GB300 x8 841 GB/s, GB200 x72 839)
//   all-gather, reduce-scatter, all-to-all (n-1)/n S;  broadcast, reduce, send S
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "orrery/base/units.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class CollectiveAlgorithm {
  kOneShot,    // every rank reads all buffers and reduces them itself (frameworks, small messages)
  kTwoShot,    // reduce-scatter and all-gather by direct reads in one kernel (frameworks)
  kRing,       // 2(n-1) or n-1 sequential messages
  kInNetwork,  // the switch adds up (NVLink SHARP, "NVLS")
  kDirect,     // every rank sends to every other one: all-to-all, send
};
inline constexpr std::size_t kCollectiveAlgorithms = 5;
std::string_view to_text(CollectiveAlgorithm algorithm);

// The constants of one algorithm for one kind of collective on one fabric.
struct CostCurve {
  Seconds latency;
  Seconds step;           // each sequential message
  double pipelining = 0;  // >= 0
  // Reached share of the nominal bandwidth with 2, 4 and 8 ranks, in (0, 1]; between them linear in
  // log2(ranks), beyond them constant.
  std::array<double, 3> efficiency{1, 1, 1};

  double efficiency_at(int ranks) const;
};

// Sequential messages; of kInNetwork one a rank.
double collective_steps(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks);

// Bytes that one rank must send for a buffer of `bytes`.
Bytes collective_volume(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks,
                        Bytes bytes);

// nccl-tests' bus bandwidth factor: 2(n-1)/n, (n-1)/n or 1.
double bus_factor(Collective::Kind kind, int ranks);

struct CurveTime {
  Seconds latency, transfer;  // L and W
  Seconds total;
};
// L and W to T.
CurveTime curve_time(Seconds latency, Seconds transfer, double pipelining);
// The whole of one algorithm on one fabric. REQUIRES ranks >= 2, bandwidth > 0.
CurveTime curve_time(const CostCurve& curve, Collective::Kind kind, CollectiveAlgorithm algorithm,
                     int ranks, Bytes bytes, BytesPerSecond bandwidth);

// Both transfers at once on two fabrics, pipelined: a little more than the longer one,
// (a^4 + b^4)^(1/4). The exponent is such that two equal ones cost 1.19 (16 H100 on 8x400G: 425
// GB/s of bus bandwidth where NVLink alone gives 470 and the ports alone 530).
Seconds overlapped(Seconds a, Seconds b);

// sqrt(a^2 + b^2): std::hypot without its care for squares beyond a double's range, at a tenth of
// its time.
inline double root_of_squares(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace orrery
