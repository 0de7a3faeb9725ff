#include "orrery/training/iteration/iteration_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/memory/saved_activations.h"
#include "orrery/network/collectives/overlap.h"
#include "orrery/training/iteration/burst_clock.h"
#include "orrery/training/iteration/data_traffic.h"
#include "orrery/training/iteration/data_transfers.h"
#include "orrery/training/iteration/error_sum.h"
#include "orrery/training/iteration/host_link.h"
#include "orrery/training/iteration/library_attention.h"
#include "orrery/training/iteration/op_sums.h"
#include "orrery/training/iteration/optimizer_parts.h"
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

// SMs that the exchange of experts takes: the default of Megatron's --moe-deepep-num-sms.
constexpr int kExchangeSms = 20;

}  // namespace

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

// Calls visit(LaunchedOp) for every op that the stack launches.
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
    visit(LaunchedOp{op, last.time, c ? nullptr : &last, c ? on_port : Seconds(0)});
  }
}

std::vector<TrainingTerm> IterationModel::terms(const TrainingJob& job, const StackTraits& stack,
                                                int index) const {
  std::vector<TrainingTerm> terms;
  visit(job, stack, index, [&](const LaunchedOp& timed) {
    TrainingTerm t{timed.op, {}, Bound::kNetwork, {}};
    t.time = timed.call.scaled(t.op.count);
    if (const KernelTime* k = timed.kernel)
      t.bound = k->bound, t.least = t.op.count * std::max(k->compute, k->memory);
    terms.push_back(t);
  });
  return terms;
}

ChunkParts IterationModel::chunk(const TrainingJob& job, const StackTraits& stack, int index,
                                 IterationParts& whole, ErrorSum& wires) const {
  ChunkParts parts;
  parts.layers = chunk_layers(model_, job.plan, index).size();
  OpSums sums(job.plan, parts, whole);
  visit(job, stack, index, [&](const LaunchedOp& op) { sums.add(op); });
  sums.finish();
  if (job.offload_activations)
    parts.offload = chunk_activations(model_, job, {}, index) / host_link(cluster_.gpu());
  DataTransfers transfers(network_, placement(job.plan), static_cast<double>(job.micro_batches()),
                          wires);
  add_micro_batch_traffic(model_, job, index, transfers, parts);
  return parts;
}

StageParts IterationModel::stage(const TrainingJob& job, const StackTraits& stack,
                                 const std::vector<int>& chunks, ErrorSum& wires) const {
  const TrainingPlan& p = job.plan;
  StageSize size;
  ChunkParameters& n = size.parameters;
  for (const int c : chunks) {
    const ChunkParameters one = chunk_parameters(model_, job, c);
    n.trained_dense += one.trained_dense;
    n.trained_experts += one.trained_experts;
    n.products += one.products;
    size.layers += chunk_layers(model_, p, c).size();
  }
  StageParts out;
  DataTransfers transfers(network_, placement(p), 1, wires);
  add_iteration_traffic(job, stack, size, transfers, out);
  const int shard = p.sharding();
  const double owned = p.zero == 0
                           ? n.trained()
                           : n.trained_dense / shard + n.trained_experts / p.expert_peers(shard);
  add_optimizer(kernels_, cluster_.gpu(), static_cast<double>(model_.hidden), job,
                {owned, n.products}, out);
  return out;
}

}  // namespace orrery
