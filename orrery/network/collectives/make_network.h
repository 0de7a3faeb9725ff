// Makes the network model of a cluster.
//
//   auto network = make_network_model(cluster, {.tp = 8}, "nccl", bundle);
//   network->predict(collective).time;
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/collectives/network_model.h"

namespace orrery {

// The vendor's library of collectives: "rccl" on AMD's GPUs, "nccl" on all others.
std::string_view collective_library(const Gpu& gpu);

// The model of the collectives that a software stack runs on `cluster` with ranks placed by `plan`.
//
// `stack` is one of
//   nccl, rccl      The vendor's library alone.
//   vllm, trtllm,   The library, and the framework's own all-reduce for small messages within a
//   sglang          node.
//   pytorch         The library called through torch.distributed, one call at a time. The launch
//                   adds 19 us (H200 x8: 17 to 21 us at every size up to 128 MiB; A100 x8 alike).
//   pytorch-loop    The duration that a profiler shows for a kernel in a loop of such calls without
//                   synchronisation. A kernel shorter than the time between two launches waits for
//                   the other ranks (docs/network.md, "Inside a node").
// `other_kinds`: the clusters of the other kinds of nodes in a mixed group (mixed_network.h); empty
// for an ordinary group.
//
// `version`: of NCCL; none: that with which the constants were measured. Algorithms that a version
// does not have are not offered. Times of a version that was not measured are transferred ones.
//
// InputError: an unknown stack; a version on GPUs whose library is not NCCL, or for a rack that the
// version does not see as one domain. Infeasible: the plan needs more devices than the cluster has.
std::unique_ptr<NetworkModel> make_network_model(const Cluster& cluster, const ParallelPlan& plan,
                                                 std::string_view stack, const Bundle& bundle,
                                                 const std::vector<Cluster>& other_kinds = {},
                                                 std::optional<LibraryVersion> version = {});

}  // namespace orrery
