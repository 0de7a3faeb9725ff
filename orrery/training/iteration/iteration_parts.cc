#include "orrery/training/iteration/iteration_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/memory/saved_activations.h"
#include "orrery/network/collectives/overlap.h"
#include "orrery/training/iteration/burst_clock.h"
#include "orrery/training/iteration/library_attention.h"
#include "orrery/training/schedules/job_schedule.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

// Throws NoData if the GPU does not multiply in the format. (Serving engines use a wider format
// instead; training in it would be another job.)
void check_format(const Gpu& gpu, Dtype format) {
  const Dtype wider = gpu.compute_dtype(format);
  if (wider != format)
    throw NoData(fmt::format("{} does not multiply {}; the next it does is {}", gpu.id,
                             to_text(format), to_text(wider)));
}

// A key that is equal for virtual stages with equal work: whether it is the first or the last one,
// and its number of layers of each kind.
std::vector<int> chunk_key(const Architecture& model, const TrainingPlan& plan, int chunk) {
  const StageLayers range = chunk_layers(model, plan, chunk);
  std::vector<int> key = {chunk == 0 ? 1 : 0, chunk == plan.pp * plan.vp - 1 ? 1 : 0};
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i)
    key.push_back(model.layers.count(static_cast<int>(i), range.first, range.last));
  return key;
}

// Slowdown of products while a ring runs over NVLink, and over a network (Calculon's constants,
// docs/reference/training.md).
constexpr double kSlowdownByRing = 1.15, kSlowdownByNetworkRing = 1.02;

// Whether an exchange of experts stays in one NVLink domain of several hosts. There the dispatcher
// `flex` is HybridEP and not DeepEP, in NVIDIA's recipes for GB200 and GB300
// (docs.nvidia.com/nemo/megatron-bridge, MoE dispatcher selection). Its kernels write to the peers
// directly and move a copy for each rank (github.com/deepseek-ai/DeepEP, branch hybrid-ep), so that
// the exchange counts as an all-to-all of these copies.
bool in_rack(const Cluster& cluster, const Collective& c, const RankPlacement& place) {
  const NodeType& node = cluster.node_type();
  if (node.gpus_per_host == 0 || node.gpus_per_host >= node.gpu_count || c.ranks < 2) return false;
  const int stride = c.ranks <= place.tensor_ranks ? place.expert : place.wide_expert;
  return cluster.link(c.ranks, stride).nodes == 1;
}

// Parameter tensors of a layer of a decoder whose query, key and value projections are one matrix,
// as are gate and up: four matrices and two norms (Nanotron's models/llama.py).
constexpr double kTensorsOfLayer = 6;

// Share of the data sheet's bandwidth that elementwise kernels reach at most: additions of a
// gigabyte move 3.07 of 3.35 TB/s on an H100 (catalog/measured/h100-sxm-2026-11-26, elementwise).
constexpr double kReachedBandwidth = 0.92;

// SMs that the exchange of experts takes: the default of Megatron's --moe-deepep-num-sms.
constexpr int kExchangeSms = 20;

}  // namespace

// The error of a sum of times: shared errors are added, own errors in quadrature.
class ErrorSum {
 public:
  Seconds add(const Estimate<Seconds>& e, double times = 1) {
    const double t = e.value.value() * times;
    time_ += t, shared_ += t * e.shared, own_squared_ += std::pow(t * e.own, 2);
    return e.value * times;
  }
  // Relative errors of the sum.
  double shared() const { return time_ > 0 ? shared_ / time_ : 0; }
  double own() const { return time_ > 0 ? std::sqrt(own_squared_) / time_ : 0; }

 private:
  double time_ = 0, shared_ = 0, own_squared_ = 0;
};

IterationModel::IterationModel(const Architecture& model, const Cluster& cluster,
                               const KernelModel& kernels, const NetworkModel& network)
    : model_(model), cluster_(cluster), kernels_(kernels), network_(network) {}

IterationParts IterationModel::parts(const TrainingJob& job, const StackTraits& stack) const {
  const TrainingPlan& p = job.plan;
  if (p.devices() > cluster_.gpus())
    throw Infeasible(
        fmt::format("the plan needs {} GPUs (tp {} x cp {} x dp {} x pp {}), the cluster has {}",
                    p.devices(), p.tp, p.cp, p.dp, p.pp, cluster_.gpus()));
  for (const Dtype format : {job.precision.compute, job.precision.activations})
    check_format(cluster_.gpu(), format);
  IterationParts whole;
  whole.async_gradients = stack.async_gradients;
  std::vector<std::vector<int>> keys;
  ErrorSum wires;
  std::array<double, kTrainingCosts> total{};
  for (int c = 0; c < p.pp * p.vp; ++c) {
    std::vector<int> key = chunk_key(model_, p, c);
    const auto found = std::find(keys.begin(), keys.end(), key);
    whole.kind.push_back(static_cast<int>(found - keys.begin()));
    if (found != keys.end()) continue;
    keys.push_back(std::move(key));
    whole.kinds.push_back(chunk(job, stack, c, whole, wires));
    for (std::size_t k = 0; k < kTrainingCosts; ++k)
      for (const Seconds s : whole.kinds.back().time[k]) total[k] += s.value();
  }
  for (std::size_t k = 0; k < kTrainingCosts; ++k) {
    if (total[k] > 0) whole.shared[k] /= total[k], whole.own[k] /= total[k];
  }
  const auto slowdown = [&](int ranks, int stride) {
    const bool inside = ranks == 1 || cluster_.link(ranks, stride).nodes == 1;
    return inside ? kSlowdownByRing : kSlowdownByNetworkRing;
  };
  whole.tensor_slowdown = slowdown(p.tp, 1);
  whole.context_slowdown = slowdown(p.ring_ranks(), placement(p).context * p.head_ranks());
  const int held = library_sms(cluster_.gpu(), false), units = cluster_.gpu().compute_units;
  const int sms = p.dispatcher == ExpertDispatcher::kFlex ? std::min(held, kExchangeSms) : held;
  if (units > sms) whole.exchange_slowdown = compute_slowdown(sms, units);
  if (units > held) whole.data_slowdown = compute_slowdown(held, units);
  std::vector<int> before;
  for (int s = 0; s < p.pp; ++s) {
    const std::vector<int> chunks = chunks_of_stage(job, s);
    std::vector<int> held;
    for (const int c : chunks) held.push_back(whole.kind[static_cast<std::size_t>(c)]);
    whole.stages.push_back(s > 0 && held == before ? whole.stages.back()
                                                   : stage(job, stack, chunks, wires));
    before = std::move(held);
  }
  if (p.pp > 1) {
    const double tokens = static_cast<double>(rank_tokens(job));
    // With sequence parallelism each tensor-parallel rank sends its part. Without it, Megatron
    // scatters before the send and gathers after it, inside the node.
    const Bytes stream = tokens * model_.hidden * bytes_per_element(job.precision.activations);
    const double sent = stack.whole_sends && !p.sequence_parallel ? 1 : 1.0 / p.tp;
    const CollectiveTime send = network_.predict(
        {CollectiveKind::kSend, Group::kPipeline, p.pp, sent * stream}, placement(p));
    whole.send_bytes = sent * stream;
    whole.send = send.time.value, whole.send_on_port = send.port_time;
    wires.add(send.time, 2.0 * static_cast<double>(job.micro_batches()) * p.vp);
  }
  whole.wires_shared = wires.shared(), whole.wires_own = wires.own();
  return whole;
}

// Calls visit(op, estimate of one call, kernel, on_port) for every op that the stack launches;
// `kernel` is null for collectives, `on_port` a collective's (CollectiveTime).
template <class Visit>
void IterationModel::visit(const TrainingJob& job, const StackTraits& stack, int index,
                           Visit visit) const {
  const RankPlacement place = placement(job.plan);
  KernelTime last;  // a recomputed op follows the forward op that it repeats
  Seconds on_port;
  for (TrainingOp& op : training_ops(model_, job, index)) {
    if (op.fusible && (stack.fused || (op.of_norm && stack.single_norms))) continue;
    if (op.accumulates && stack.fused_accumulation) continue;
    if (op.between_experts && stack.fused_experts) continue;
    if (op.pads && !stack.padded_experts) continue;
    if (op.transposed > Bytes(0) &&
        !transposes_operands(job.precision, cluster_.gpu().architecture))
      op = without_transpose(op);
    double together = 1;  // experts of a product
    if (op.experts > 1 && (stack.grouped_experts || stack.fused_experts)) {
      together = op.experts;
      op = one_for_all(op);
    }
    const auto* c = std::get_if<Collective>(&op.op);
    if (op.pass != TrainingPass::kRecompute) {
      if (c) {
        RankPlacement here = place;
        here.context *= op.apart;
        const CollectiveTime time =
            op.move && !in_rack(cluster_, *c, here)
                ? network_.exchange(exchange_of(*op.move, kExchangeSms), c->group, c->ranks, here)
                : network_.predict(*c, here);
        last.time = time.time, on_port = time.port_time;
      } else {
        last = kernels_.predict(op.op);
        attend_by(stack.attention, op.op, last);
        run_in_step(cluster_.gpu(), op.cost, together, last);
      }
    }
    visit(op, last.time, c ? nullptr : &last, c ? on_port : Seconds(0));
  }
}

std::vector<TrainingTerm> IterationModel::terms(const TrainingJob& job, const StackTraits& stack,
                                                int index) const {
  std::vector<TrainingTerm> terms;
  visit(job, stack, index,
        [&](TrainingOp& op, const Estimate<Seconds>& time, const KernelTime* k, Seconds) {
          TrainingTerm t{op, {}, Bound::kNetwork, {}};
          t.time = time.scaled(t.op.count);
          if (k) t.bound = k->bound, t.least = t.op.count * std::max(k->compute, k->memory);
          terms.push_back(t);
        });
  return terms;
}

ChunkParts IterationModel::chunk(const TrainingJob& job, const StackTraits& stack, int index,
                                 IterationParts& whole, ErrorSum& wires) const {
  ChunkParts parts;
  const TrainingPlan& p = job.plan;
  parts.layers = chunk_layers(model_, p, index).size();
  const RankPlacement place = placement(p);
  std::array<double, kTrainingCosts> own_squared{};
  ChunkParts::ByCost<Seconds> moved{};  // time that memory takes at the data sheet's bandwidth
  visit(job, stack, index,
        [&](const TrainingOp& op, const Estimate<Seconds>& call, const KernelTime* kernel,
            Seconds on_port) {
          const Seconds time = call.value * op.count;
          parts.time[at(op.cost)][at(op.pass)] += time;
          parts.on_port[at(op.cost)][at(op.pass)] += on_port * op.count;
          parts.kernels[op.pass == TrainingPass::kForward ? 0 : 1] += op.count;
          if (op.cost == TrainingCost::kTensor && op.name == "tp_all_reduce") {
            parts.piped[at(op.pass)] += time;
            parts.collectives[at(op.pass)] += op.count;
          }
          if (op.cost == TrainingCost::kContext) {
            const bool gathers = std::get<Collective>(op.op).kind == CollectiveKind::kAllGather;
            const bool ring = p.context == ContextMethod::kRing || p.context == ContextMethod::kUsp;
            if (ring && gathers) {
              parts.hops[at(op.pass)] += time;
              parts.hops_on_port[at(op.pass)] += on_port * op.count;
            }
            // Keys and values have one collective in a pass, but two, or one twice, in the backward
            // pass.
            // The all-to-all of USP belongs to the same layer as its ring.
            const bool twice = op.pass == TrainingPass::kBackwardInput && p.ring_ranks() > 1;
            if (!ring || gathers || p.ring_ranks() == 1)
              parts.contexts[at(op.pass)] += op.count / (twice ? 2 : 1);
          }
          if (kernel) {
            parts.flops += op.count * flops(op.op);
            double& most = parts.of_peak[at(op.cost)][at(op.pass)];
            if (call.value > Seconds(0)) most = std::max(most, kernel->compute / call.value);
            moved[at(op.cost)][at(op.pass)] += op.count * std::min(kernel->memory, call.value);
          }
          whole.shared[at(op.cost)] += time.value() * call.shared;
          own_squared[at(op.cost)] += std::pow(time.value() * call.own, 2);
          whole.origin = std::max(whole.origin, call.origin);
        });
  // Elementwise kernels and casts move their tensors at the bandwidth that copies reach, at best.
  for (const std::size_t cost : {at(TrainingCost::kElementwise), at(TrainingCost::kCasts)}) {
    for (std::size_t pass = 0; pass < kTrainingPasses; ++pass) {
      if (parts.time[cost][pass] > Seconds(0))
        parts.of_peak[cost][pass] =
            std::max(parts.of_peak[cost][pass],
                     moved[cost][pass] / (kReachedBandwidth * parts.time[cost][pass]));
    }
  }
  // All stages run the same kernels, so their errors are added and not their squares.
  for (std::size_t k = 0; k < kTrainingCosts; ++k) whole.own[k] += std::sqrt(own_squared[k]);
  if (job.offload_activations)
    parts.offload = chunk_activations(model_, job, {}, index) / host_link(cluster_.gpu());
  // In a pipeline, stacks add the gradients of all micro-batches up before they scatter them
  // (MegaScale; DeepSpeed refuses ZeRO 2 there).
  if (p.zero < 2 || (p.zero == 2 && p.pp > 1) || p.data_ranks() == 1) return parts;
  // Sharded weights travel in the format that products read, gradients in the format in which they
  // are reduced. Each layer has one collective.
  const ChunkParameters n = chunk_parameters(model_, job, index);
  const Bytes weight = gathered_weight(job);
  const double others = n.all() - n.products;  // embedding, norms, LM head
  const Bytes dense = std::max(0.0, n.dense - others) * weight +
                      others * bytes_per_element(job.precision.activations);
  const double pieces = std::max(1, parts.layers);
  Seconds on_port;  // of the transfers so far
  std::vector<DataTransfer> transfers;
  const auto travel = [&](CollectiveKind kind, Group group, int ranks, Bytes bytes) {
    if (ranks <= 1 || bytes <= Bytes(0)) return Seconds(0);
    const Collective what{kind, group, ranks, bytes / pieces};
    const CollectiveTime one = network_.predict(what, place);
    transfers.push_back({what, pieces, one.time.value});
    wires.add(one.time, pieces * static_cast<double>(job.micro_batches()));
    on_port += one.port_time * pieces;
    return one.time.value * pieces;
  };
  const int shard = p.sharding(), expert_shard = p.expert_peers(shard);
  const auto gathered = [&](int ranks) {
    return travel(CollectiveKind::kAllGather, Group::kData, ranks, dense) +
           travel(CollectiveKind::kAllGather, Group::kExpertData, p.expert_peers(ranks),
                  n.experts * weight);
  };
  if (p.zero == 3) {
    parts.gather = gathered(shard);
    parts.gather_on_port = std::exchange(on_port, Seconds(0));
    parts.gathers = std::exchange(transfers, {});
  }
  if (p.zero < 3 || p.resharding() == shard) {  // the same collectives: their error counts once
    parts.gather_again = parts.gather, parts.gather_again_on_port = parts.gather_on_port;
    parts.gathers_again = parts.gathers;
  } else {
    parts.gather_again = gathered(p.resharding());
    parts.gather_again_on_port = std::exchange(on_port, Seconds(0));
    parts.gathers_again = std::exchange(transfers, {});
  }
  const Bytes gradient = bytes_per_element(job.precision.gradients);
  parts.scatter =
      travel(CollectiveKind::kReduceScatter, Group::kData, shard, n.trained_dense * gradient) +
      travel(CollectiveKind::kReduceScatter, Group::kExpertData, expert_shard,
             n.trained_experts * gradient);
  parts.scatter_on_port = on_port;
  parts.scatters = std::move(transfers);
  return parts;
}

StageParts IterationModel::stage(const TrainingJob& job, const StackTraits& stack,
                                 const std::vector<int>& chunks, ErrorSum& wires) const {
  const TrainingPlan& p = job.plan;
  const RankPlacement place = placement(p);
  ChunkParameters n;
  for (const int c : chunks) {
    const ChunkParameters one = chunk_parameters(model_, job, c);
    n.trained_dense += one.trained_dense;
    n.trained_experts += one.trained_experts;
    n.products += one.products;
  }
  StageParts out;
  int layers = 0;
  for (const int c : chunks) layers += chunk_layers(model_, p, c).size();
  // Dense weights and routed experts travel in different buckets. Without buckets, the piece of a
  // layer has both.
  const double bucket = std::max(stack.bucket, stack.bucket_of_rank * p.data_ranks());
  const bool whole = stack.whole_shards && (p.zero == 1 || p.zero == 2);
  const auto pieces = [&](double parameters) {
    if (whole) return 1.0;
    return bucket > 0 ? std::ceil(parameters / bucket) : std::max(1, layers);
  };
  const double buckets = pieces(n.trained_dense) + (bucket > 0 ? pieces(n.trained_experts) : 0);
  out.buckets = static_cast<int>(std::max(1.0, buckets));
  const Bytes gradient = bytes_per_element(job.precision.gradients);
  const Bytes weight =
      job.precision.fp8_parameters ? Bytes(1) : bytes_per_element(job.precision.activations);
  Seconds on_port;  // of the transfers so far
  std::vector<DataTransfer> transfers;
  const auto travel = [&](CollectiveKind kind, Group group, int ranks, double parameters,
                          Bytes each) {
    if (ranks <= 1 || parameters <= 0) return Seconds(0);
    const double count = pieces(parameters);
    const Collective what{kind, group, ranks, parameters / count * each};
    const CollectiveTime one = network_.predict(what, place);
    transfers.push_back({what, count, one.time.value});
    on_port += one.port_time * count;
    return wires.add(one.time, count);
  };
  const int ranks = p.data_ranks(), shard = p.sharding(), expert_shard = p.expert_peers(shard);
  // Reduction between the copies of sharded gradients: each rank reduces its part.
  const auto between_copies = [&] {
    return travel(CollectiveKind::kAllReduce, Group::kReplica, ranks / shard, n.trained_dense,
                  gradient / shard) +
           travel(CollectiveKind::kAllReduce, Group::kReplica, p.expert_data_ranks() / expert_shard,
                  n.trained_experts, gradient / expert_shard);
  };
  const auto all_reduced = [&] {
    return travel(CollectiveKind::kAllReduce, Group::kData, ranks, n.trained_dense, gradient) +
           travel(CollectiveKind::kAllReduce, Group::kExpertData, p.expert_data_ranks(),
                  n.trained_experts, gradient);
  };
  if (p.zero == 0) {
    out.reduce = all_reduced();
  } else if (whole) {
    out.late_reduce = all_reduced();
    out.late_reductions = std::exchange(transfers, {});
    out.late_gather =
        travel(CollectiveKind::kAllGather, Group::kData, shard, n.trained_dense, weight) +
        travel(CollectiveKind::kAllGather, Group::kExpertData, expert_shard, n.trained_experts,
               weight);
    out.late_updates = std::exchange(transfers, {});
    if (shard > 1) out.copies = 1.0 * shard * kTensorsOfLayer * layers;
    on_port = Seconds(0);
  } else if (p.zero < 3) {
    out.reduce =
        travel(CollectiveKind::kReduceScatter, Group::kData, shard, n.trained_dense, gradient) +
        travel(CollectiveKind::kReduceScatter, Group::kExpertData, expert_shard, n.trained_experts,
               gradient) +
        between_copies();
    out.reduce_on_port = std::exchange(on_port, Seconds(0));
    out.reductions = std::exchange(transfers, {});
    const Bytes updated = n.trained_dense * weight;
    out.gather = travel(CollectiveKind::kAllGather, Group::kExpertData, expert_shard,
                        n.trained_experts, weight);
    if (stack.broadcasts && shard > 1) {
      const Collective one{CollectiveKind::kBroadcast, Group::kData, shard, updated / shard};
      out.late_gather = wires.add(network_.predict(one, place).time, shard);
      out.late_updates = {{one, 1.0 * shard, out.late_gather / shard}};
    } else {
      out.gather +=
          travel(CollectiveKind::kAllGather, Group::kData, shard, n.trained_dense, weight);
    }
    out.gather_on_port = std::exchange(on_port, Seconds(0));
    out.updates = std::exchange(transfers, {});
  } else {
    out.reduce = between_copies();
  }
  out.reduce_on_port += on_port;
  if (out.reductions.empty()) out.reductions = std::move(transfers);

  const double owned =
      p.zero == 0 ? n.trained() : n.trained_dense / shard + n.trained_experts / expert_shard;
  add_optimizer(out, job, owned, n.products);
  return out;
}

}  // namespace orrery
