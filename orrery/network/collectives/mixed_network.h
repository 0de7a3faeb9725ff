// Collectives of a group whose nodes differ: nodes of H100 and of A100, or of the same GPUs behind
// other NICs.
//
//   auto network = make_mixed_network({hgx_h100, hgx_a100}, plan, "nccl", bundle);
//
// Every step of a collective waits for its slowest member, and NCCL's ranks agree on what all of
// them can do (channels, bandwidths and algorithms are the least that any rank has). So
//   - a pair (algorithm, protocol) is offered where every kind of nodes offers it, with the longest
//     latency and the least bandwidth that it has on a group of this size of one kind alone,
//   - the time is the longest that the factors of any kind's network and software give it
//     (library_curve.h), and the bound the highest,
//   - an all-to-all, a send and an exchange of experts take what the slowest kind alone would take.
//
// It depends on the kinds of nodes and the number of GPUs, not on how many there are of each, nor
// on their order: one slow node in a ring is enough. Laws: a group of equal kinds takes what an
// ordinary one takes; no group is faster than one of as many GPUs of any of its kinds alone.
//
// No mixed group was measured: the interval has the widest errors of all kinds and a quarter beside
// them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/network/collectives/network_model.h"

namespace orrery {

// `kinds`: a cluster for each kind of nodes, each with as many GPUs as the group's cluster has in
// all; of one kind it is make_network_model's. InputError: no kind, other numbers of GPUs, GPUs of
// several vendors; and as of make_network_model.
std::unique_ptr<NetworkModel> make_mixed_network(const std::vector<Cluster>& kinds,
                                                 const ParallelPlan& plan, std::string_view stack,
                                                 const Bundle& bundle);

}  // namespace orrery
