// Dispatch and combine of expert parallelism, as DeepEP's kernels do them.
//
// Dispatch sends every token to the ranks of its experts, in fp8 with one scale for 128 numbers
// (hidden * (1 + 4/128) + 16 bytes a token) or in bf16, as training does (2 hidden). Combine
// returns the results in bf16.
//
//   low latency   one message for each of a token's top_k copies, straight to the expert's rank
//   normal        one message for each rank that the token goes to (within a node), or for each
//                 node (between nodes), from where the scale-up fabric hands it on
//
// The experts count as evenly used: a token's top_k copies go to m (1 - (1 - 1/m)^top_k) of m
// places, or to fewer if the router is limited (nodes_hit). The bytes that leave a rank for its own
// node and for other nodes are two transfers at once (overlapped() of cost.h):
//
//   T = start + overlapped( inside / (share * B), between / (share' * N) )
//
//   inside, between   bytes for ranks of the same node, and of other nodes (ExpertBytes)
//   B, N              bandwidth of the scale-up fabric, and of a rank's share of the ports
//   share, share'     reached shares of them
//
// A normal kernel sends with `sms` multiprocessors; within a node it reaches no more than sms *
// each_sm. The heaviest rank has `imbalance` times the mean load, and all ranks wait for it. Normal
// kernels send a place at most one copy of a token, so that the load of the heaviest place is at
// most the tokens of all ranks.
// expert_fit.h fits the constants, for each fabric.
#pragma once

#include <vector>

#include "orrery/hardware/cluster.h"
#include "orrery/workload/ops/expert_move.h"

namespace orrery {

struct ExpertExchange {
  bool combine = false;        // else dispatch
  bool low_latency = false;    // else normal
  std::int64_t tokens = 4096;  // of one rank
  int hidden = 7168, top_k = 8;
  int most_nodes = 0;  // most nodes with experts of one token; 0: no limit
  // The router picks experts within `top_groups` of `groups` groups (DeepSeek-V3: 4 of 8). The
  // groups lie on the ranks in order.
  int groups = 1, top_groups = 1;
  bool narrow = true;    // dispatch in fp8; else bf16
  int sms = 24;          // multiprocessors of a normal kernel
  double imbalance = 1;  // >= 1
};

// The exchange of a move, by kernels of `sms` multiprocessors where they are normal ones.
ExpertExchange exchange_of(const ExpertMove& move, int sms);

// A line of `experts` in catalog/network/*.yaml: for a scale-up fabric, or for a network (then
// without each_sm).
struct ExpertCurve {
  bool combine = false, low_latency = false;
  Seconds start;
  double share = 0.6;        // reached, of the nominal bandwidth
  BytesPerSecond each_sm{};  // normal kernels within a node; 0: no limit
  std::int64_t rows = 0;
  double left_out_error = 0.3;
};

// Expected number of `places` that `picks` independent picks hit.
double places_hit(double places, int picks);

// Expected number of nodes, of `nodes`, that hold an expert of a token: at most most_nodes, and at
// most places_hit(nodes, top_k). Let a router pick g of G groups. If nodes hold whole groups, it is
// the number of nodes with a picked group, nodes (1 - C(G - G/nodes, g) / C(G, g)). If groups span
// nodes, the picks fall on the nodes of g groups.
double nodes_hit(const ExpertExchange& x, double nodes);

// Bytes that leave one rank, without imbalance.
struct ExpertBytes {
  Bytes inside;   // for the other ranks of its node
  Bytes between;  // for other nodes
  // DeepEP's bandwidth is this over the time. Low latency: all copies. Normal: a copy for each node
  // that the token goes to, or for each rank on a single node, the sender's own included.
  Bytes counted;
};
ExpertBytes expert_bytes(const ExpertExchange& x, const GroupLink& link);

struct ExpertTime {
  Seconds start, inside, between, total;
};
// The time by the curves of the scale-up fabric (`inside`, with its bandwidth `scale_up`) and of
// the network (`between`, unused on one node).
ExpertTime expert_time(const ExpertExchange& x, const GroupLink& link, const ExpertCurve& inside,
                       BytesPerSecond scale_up, const ExpertCurve& between);

// The curve for the kind of x (dispatch or combine, low latency or normal); nullptr: none.
const ExpertCurve* expert_curve(const std::vector<ExpertCurve>& curves, const ExpertExchange& x);

}  // namespace orrery
