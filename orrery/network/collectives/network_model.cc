#include "orrery/network/collectives/network_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/collectives/curve_network.h"

namespace orrery {

std::string_view to_text(CollectiveBound bound) {
  return bound == CollectiveBound::kLatency ? "latency" : "bandwidth";
}

RankPlacement placement(const ParallelPlan& plan) {
  RankPlacement p;
  p.pipeline = plan.tp;
  p.data = plan.tp * plan.pp;
  p.stages = plan.pp;
  p.wide_expert = plan.pp;
  p.tensor_ranks = plan.tp;
  return p;
}

RankPlacement placement(const TrainingPlan& plan) {
  RankPlacement p;
  const bool data_first = plan.order == RankOrder::kDataBeforePipeline;
  const int between = data_first ? 1 : plan.pp;  // ranks of other stages between those of one
  const int near = plan.tp * plan.cp;            // ranks of one stage side by side in any order
  p.context = plan.tp;
  p.data = plan.tp * between;
  p.replica = p.data * plan.sharding();
  p.pipeline = data_first ? near * plan.dp : near;
  p.stages = plan.pp;
  p.expert = plan.expert_tp();
  p.wide_expert = plan.expert_tp() * between;
  p.tensor_ranks = near / plan.expert_tp();
  p.expert_data = plan.ep * plan.expert_tp() * (plan.ep * plan.expert_tp() < near ? 1 : between);
  return p;
}

std::string_view collective_library(const Gpu& gpu) {
  return gpu.vendor == "amd" ? "rccl" : "nccl";
}

std::unique_ptr<NetworkModel> make_network_model(const Cluster& cluster, const ParallelPlan& plan,
                                                 std::string_view stack, const Bundle& bundle,
                                                 const std::vector<Cluster>& beside) {
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
  return std::make_unique<CurveNetwork>(cluster, plan, name, bundle, beside);
}

}  // namespace orrery
