#include "orrery/network/collectives/make_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/network/collectives/curve_network.h"

namespace orrery {

namespace {

void check_version(const Cluster& cluster, const std::string& stack,
                   const LibraryVersion& version) {
  if (cluster.gpu().vendor != "nvidia" || stack == "rccl")
    throw InputError(fmt::format("{} has no version of NCCL", cluster.gpu().id));
  const NodeType& node = cluster.node_type();
  if (node.gpus_per_host > 0 && cluster.gpus() > node.gpus_per_host && version < kRackDomains) {
    throw InputError(fmt::format(
        "NCCL {} does not use the NVLink between the hosts of {}: that takes {}; a host has {} "
        "GPUs",
        to_text(version), node.id, to_text(kRackDomains), node.gpus_per_host));
  }
}

}  // namespace

std::string_view collective_library(const Gpu& gpu) {
  return gpu.vendor == "amd" ? "rccl" : "nccl";
}

std::unique_ptr<NetworkModel> make_network_model(const Cluster& cluster, const ParallelPlan& plan,
                                                 std::string_view stack, const Bundle& bundle,
                                                 const std::vector<Cluster>& other_kinds,
                                                 std::optional<LibraryVersion> version) {
  static const std::vector<std::string> stacks = {"vllm", "trtllm",  "sglang",      "nccl",
                                                  "rccl", "pytorch", "pytorch-loop"};
  const std::string name = canonical_name(stack);
  if (std::find(stacks.begin(), stacks.end(), name) == stacks.end()) {
    throw InputError(fmt::format("unknown communication stack '{}'{}; known: {}", stack,
                                 did_you_mean(stack, stacks), fmt::join(stacks, ", ")));
  }
  if (plan.devices() > cluster.gpus()) {
    throw Infeasible(
        fmt::format("the plan needs {} GPUs (tp {} x pp {} x dp {}), the cluster has {}",
                    plan.devices(), plan.tp, plan.pp, plan.dp, cluster.gpus()));
  }
  if (version) check_version(cluster, name, *version);
  return std::make_unique<CurveNetwork>(cluster, plan, name, bundle, other_kinds, version);
}

}  // namespace orrery
