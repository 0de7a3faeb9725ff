#include "orrery/network/collectives/network_model.h"

#include "orrery/base/error.h"

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

int stride_of(const Collective& c, const RankPlacement& p) {
  switch (c.group) {
    case Collective::Group::kTensor:
      return p.tensor;
    case Collective::Group::kPipeline:
      return p.pipeline;
    case Collective::Group::kData:
      return p.data;
    case Collective::Group::kExpert:
      return c.ranks > p.tensor_ranks ? p.wide_expert : p.expert;
    case Collective::Group::kContext:
      return p.context;
    case Collective::Group::kReplica:
      return p.replica;
    case Collective::Group::kExpertData:
      return p.expert_data;
  }
  return 1;
}

CollectiveTime NetworkModel::predict(const Collective& c, const ForcedChoice& forced) const {
  if (forced.any())
    throw InputError("this network model has no algorithm or protocol to prescribe");
  return predict(c);
}

CollectiveChoice NetworkModel::choice(const Collective& c, const ForcedChoice& forced) const {
  return {predict(c, forced).algorithm, "", "", false};
}

Seconds NetworkModel::bound(const Collective&, const ForcedChoice&) const { return Seconds(0); }

}  // namespace orrery
