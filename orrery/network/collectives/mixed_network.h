// Collectives of a group whose nodes differ: nodes of H100 and of A100, or of the same GPUs with
// different NICs.
//
//   auto network = make_mixed_network({hgx_h100, hgx_a100}, plan, "nccl", bundle);
//
// Every step of a collective waits for its slowest member, and NCCL's ranks agree on what all of
// them can do: the fewest channels, the least bandwidth, the algorithms that all have. Therefore
//   - a pair (algorithm, protocol) is offered if every kind of nodes offers it, with the longest
//     latency and the least bandwidth that it has on a group of this size of one kind alone;
//   - the time is the longest that the factors of any kind's network and software give
//     (library_curve.h), and the bound is the highest;
//   - an all-to-all, a send and an exchange of experts take as long as the slowest kind alone.
//
// The time depends on the kinds of nodes and the number of GPUs. It does not depend on the number
// of nodes of each kind, nor on their order: one slow node in a ring is enough. A group of equal
// kinds takes as long as an ordinary one, and no group is faster than one of as many GPUs of any of
// its kinds alone.
//
// No mixed group was measured: the interval has the widest errors of all kinds, and a relative
// error of 0.25 in addition.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/collectives/network_model.h"

namespace orrery {

// `kinds`: a cluster for each kind of nodes, each with as many GPUs as the whole group. A single
// kind gives the model of make_network_model. InputError: no kind, clusters of different sizes,
// GPUs of several vendors, and the errors of make_network_model.
std::unique_ptr<NetworkModel> make_mixed_network(const std::vector<Cluster>& kinds,
                                                 const ParallelPlan& plan, std::string_view stack,
                                                 const Bundle& bundle,
                                                 std::optional<LibraryVersion> version = {});

}  // namespace orrery
