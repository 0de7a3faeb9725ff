#include "orrery/training/iteration/data_traffic.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

// Parameter tensors of a layer of a decoder whose query, key and value projections are one matrix,
// as are gate and up: four matrices and two norms (Nanotron's models/llama.py).
constexpr double kTensorsOfLayer = 6;

// The gradients and updated weights of a pipeline stage on their way.
struct StageTraffic {
  const TrainingPlan& plan;
  const StageSize& size;
  double bucket;         // parameters; 0: each layer travels by itself
  bool whole;            // everything travels at once
  Bytes gradient;        // of a parameter
  Bytes updated_weight;  // of a parameter
  DataTransfers& transfers;

  // The number of collectives in which so many parameters travel.
  double pieces(double parameters) const {
    if (whole) return 1.0;
    return bucket > 0 ? std::ceil(parameters / bucket) : std::max(1, size.layers);
  }

  // Dense weights and routed experts travel in different buckets. Without buckets, the piece of a
  // layer has both.
  int buckets() const {
    const ChunkParameters& n = size.parameters;
    const double all = pieces(n.trained_dense) + (bucket > 0 ? pieces(n.trained_experts) : 0);
    return static_cast<int>(std::max(1.0, all));
  }

  // The time of a collective with `each` bytes for each of the parameters.
  Seconds travel(CollectiveKind kind, Group group, int ranks, double parameters, Bytes each) {
    if (parameters <= 0) return Seconds(0);
    const double count = pieces(parameters);
    return transfers.add({kind, group, ranks, parameters / count * each}, count);
  }

  Seconds experts(CollectiveKind kind, int ranks, Bytes each) {
    return travel(kind, Group::kExpertData, ranks, size.parameters.trained_experts, each);
  }
  Seconds dense(CollectiveKind kind, int ranks, Bytes each) {
    return travel(kind, Group::kData, ranks, size.parameters.trained_dense, each);
  }

  Seconds all_reduced() {
    const Seconds of_experts =
        experts(CollectiveKind::kAllReduce, plan.expert_data_ranks(), gradient);
    return dense(CollectiveKind::kAllReduce, plan.data_ranks(), gradient) + of_experts;
  }

  // Reduction between the copies of sharded gradients: each rank reduces its part.
  Seconds reduced_between_copies() {
    const int shard = plan.sharding(), expert_shard = plan.expert_peers(shard);
    const Seconds of_experts =
        travel(CollectiveKind::kAllReduce, Group::kReplica, plan.expert_data_ranks() / expert_shard,
               size.parameters.trained_experts, gradient / expert_shard);
    return travel(CollectiveKind::kAllReduce, Group::kReplica, plan.data_ranks() / shard,
                  size.parameters.trained_dense, gradient / shard) +
           of_experts;
  }
};

// Reduces everything after the last backward pass, and gathers everything after the optimizer.
void add_whole_shards(StageTraffic& stage, StageParts& out) {
  const int shard = stage.plan.sharding();
  out.late_reduce = stage.all_reduced();
  out.late_reductions = stage.transfers.take();
  const Seconds of_experts = stage.experts(CollectiveKind::kAllGather,
                                           stage.plan.expert_peers(shard), stage.updated_weight);
  out.late_gather =
      stage.dense(CollectiveKind::kAllGather, shard, stage.updated_weight) + of_experts;
  out.late_updates = stage.transfers.take();
  if (shard > 1) out.copies = 1.0 * shard * kTensorsOfLayer * stage.size.layers;
}

// Scatters gradients, and gathers updated weights, in buckets. Broadcasts are gathers after the
// optimizer, one from each rank.
void add_sharded_optimizer(StageTraffic& stage, bool broadcasts, StageParts& out) {
  const int shard = stage.plan.sharding(), expert_shard = stage.plan.expert_peers(shard);
  const Seconds between_copies = stage.reduced_between_copies();
  const Seconds of_experts =
      stage.experts(CollectiveKind::kReduceScatter, expert_shard, stage.gradient);
  out.reduce = stage.dense(CollectiveKind::kReduceScatter, shard, stage.gradient) + of_experts +
               between_copies;
  out.reduce_on_port = stage.transfers.take_port_time();
  out.reductions = stage.transfers.take();
  out.gather = stage.experts(CollectiveKind::kAllGather, expert_shard, stage.updated_weight);
  if (!broadcasts || shard == 1)
    out.gather += stage.dense(CollectiveKind::kAllGather, shard, stage.updated_weight);
  out.gather_on_port = stage.transfers.take_port_time();
  out.updates = stage.transfers.take();
  if (!broadcasts || shard == 1) return;
  const Bytes updated = stage.size.parameters.trained_dense * stage.updated_weight;
  out.late_gather = stage.transfers.add(
      {CollectiveKind::kBroadcast, Group::kData, shard, updated / shard}, 1.0 * shard);
  out.late_updates = stage.transfers.take();
}

}  // namespace

void add_micro_batch_traffic(const Architecture& model, const TrainingJob& job, int chunk,
                             DataTransfers& transfers, ChunkParts& out) {
  const TrainingPlan& p = job.plan;
  // In a pipeline, stacks add the gradients of all micro-batches up before they scatter them
  // (MegaScale; DeepSpeed refuses ZeRO 2 there).
  if (p.zero < 2 || (p.zero == 2 && p.pp > 1) || p.data_ranks() == 1) return;
  // Sharded weights travel in the format that products read, gradients in the format in which they
  // are reduced.
  const ChunkParameters n = chunk_parameters(model, job, chunk);
  const Bytes weight = gathered_weight(job);
  const double others = n.all() - n.products;  // embedding, norms, LM head
  const Bytes dense = std::max(0.0, n.dense - others) * weight +
                      others * bytes_per_element(job.precision.activations);
  const double layers = std::max(1, chunk_layers(model, p, chunk).size());
  const auto travel = [&](CollectiveKind kind, int ranks, Bytes of_dense, Bytes of_experts) {
    const Seconds experts = transfers.add(
        {kind, Group::kExpertData, p.expert_peers(ranks), of_experts / layers}, layers);
    return transfers.add({kind, Group::kData, ranks, of_dense / layers}, layers) + experts;
  };
  const int shard = p.sharding();
  if (p.zero == 3) {
    out.gather = travel(CollectiveKind::kAllGather, shard, dense, n.experts * weight);
    out.gather_on_port = transfers.take_port_time();
    out.gathers = transfers.take();
  }
  if (p.zero < 3 || p.resharding() == shard) {  // the same collectives: their error counts once
    out.gather_again = out.gather, out.gather_again_on_port = out.gather_on_port;
    out.gathers_again = out.gathers;
  } else {
    out.gather_again =
        travel(CollectiveKind::kAllGather, p.resharding(), dense, n.experts * weight);
    out.gather_again_on_port = transfers.take_port_time();
    out.gathers_again = transfers.take();
  }
  const Bytes gradient = bytes_per_element(job.precision.gradients);
  out.scatter = travel(CollectiveKind::kReduceScatter, shard, n.trained_dense * gradient,
                       n.trained_experts * gradient);
  out.scatter_on_port = transfers.take_port_time();
  out.scatters = transfers.take();
}

void add_iteration_traffic(const TrainingJob& job, const StackTraits& stack, const StageSize& size,
                           DataTransfers& transfers, StageParts& out) {
  const TrainingPlan& p = job.plan;
  StageTraffic stage{.plan = p,
                     .size = size,
                     .bucket = std::max(stack.bucket, stack.bucket_of_rank * p.data_ranks()),
                     .whole = stack.whole_shards && (p.zero == 1 || p.zero == 2),
                     .gradient = bytes_per_element(job.precision.gradients),
                     .updated_weight = job.precision.fp8_parameters
                                           ? Bytes(1)
                                           : bytes_per_element(job.precision.activations),
                     .transfers = transfers};
  out.buckets = stage.buckets();
  if (stage.whole) return add_whole_shards(stage, out);
  if (p.zero == 1 || p.zero == 2) return add_sharded_optimizer(stage, stack.broadcasts, out);
  out.reduce = p.zero == 0 ? stage.all_reduced() : stage.reduced_between_copies();
  out.reduce_on_port = transfers.take_port_time();
  out.reductions = transfers.take();
}

}  // namespace orrery
