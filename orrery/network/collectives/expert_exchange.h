// Dispatch and combine of expert parallelism, as DeepEP does them.
//
// Dispatch sends every token to the ranks of its experts in fp8 with a scale for 128 numbers
// (hidden * (1 + 4/128) + 16 bytes), or in bf16 as training does; combine brings the results back
// in bf16 (2 hidden).
//
//   low latency   one message for each of a token's top_k copies, straight to the expert's rank
//   normal        one message for each rank (within a node) or node (between nodes, where it is
//                 handed on over the scale-up fabric)
//
// Experts are taken as spread evenly: a token's top_k copies hit m(1 - (1 - 1/m)^top_k) of m
// places, or fewer where the router is limited (nodes_hit). The bytes that leave a rank for other
// ranks of its node and for other nodes give two transfers, side by side (overlapped() of cost.h):
//
//   T = start + overlapped(inside / (share * B), between / (share' * N)),   B scale-up, N ports
//
// Normal kernels send with `sms` multiprocessors: within a node no more than sms * each_sm. The
// heaviest rank holds `imbalance` times the mean and everybody waits for it. Constants per fabric,
// fitted by expert_fit.h.
#pragma once

#include <vector>

#include "orrery/hardware/cluster.h"

namespace orrery {

struct ExpertExchange {
  bool combine = false;        // else dispatch
  bool low_latency = false;    // else normal
  std::int64_t tokens = 4096;  // of one rank
  int hidden = 7168, top_k = 8;
  int most_nodes = 0;  // that a token's experts lie on; 0: no limit
  // Experts are picked within `top_groups` of `groups` of them (DeepSeek-V3: 4 of 8); groups lie on
  // the ranks in their order.
  int groups = 1, top_groups = 1;
  bool narrow = true;    // dispatch in fp8
  int sms = 24;          // of normal kernels
  double imbalance = 1;  // >= 1
};

// One line of catalog/network/*.yaml, `experts`: of a scale-up fabric, or of a network (then
// without each_sm).
struct ExpertCurve {
  bool combine = false, low_latency = false;
  Seconds start;
  double share = 0.6;        // of the nominal bandwidth
  BytesPerSecond each_sm{};  // normal kernels within a node; 0: no limit
  std::int64_t rows = 0;
  double left_out_error = 0.3;
};

// Expected number of `places` that `picks` independent picks hit.
double places_hit(double places, int picks);

// Of `nodes`, those that hold an expert of a token: no more than most_nodes; where nodes hold whole
// groups, those that the groups picked lie on, nodes (1 - C(G - G/nodes, g) / C(G, g)) on average
// of g out of G; where groups span nodes, picks within the span of g. At most places_hit(nodes,
// top_k).
double nodes_hit(const ExpertExchange& x, double nodes);

// Bytes that leave one rank for its node's other ranks and for other nodes, without imbalance.
// `counted`: what DeepEP divides by the time for its bandwidth: low latency, all copies; normal, a
// copy for each node (several nodes) or rank touched, the own one included.
struct ExpertBytes {
  Bytes inside, between, counted;
};
ExpertBytes expert_bytes(const ExpertExchange& x, const GroupLink& link);

struct ExpertTime {
  Seconds start, inside, between, total;
};
// `inside`: the scale-up fabric's curve and bandwidth; `between`: the network's, unused on one
// node. `imbalance` stretches the transfers.
ExpertTime expert_time(const ExpertExchange& x, const GroupLink& link, const ExpertCurve& inside,
                       BytesPerSecond scale_up, const ExpertCurve& between);

// The curve of x's kind among `curves`; nullptr: none.
const ExpertCurve* expert_curve(const std::vector<ExpertCurve>& curves, const ExpertExchange& x);

}  // namespace orrery
