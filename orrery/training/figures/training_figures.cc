#include "orrery/training/figures/training_figures.h"

#include <algorithm>

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

// Communication of weights and gradients on the busiest stage, exposed or not.
Seconds data_communication(const IterationParts& parts, const TrainingJob& job) {
  Seconds all, sharded;
  for (const StageParts& s : parts.stages)
    all = std::max(all, s.reduce + s.gather + s.late_reduce + s.late_gather);
  for (const ChunkParts& c : parts.kinds)
    sharded = std::max(sharded, c.gather + c.gather_again + c.scatter);
  return all + static_cast<double>(job.micro_batches() * job.plan.vp) * sharded;
}

Seconds port_contention(const TimedIteration& timed, bool events) {
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  if (!shares_ports(parts)) return Seconds(0);
  const IterationParts own = with_own_ports(parts);
  const Seconds alone =
      events ? iteration_events(own, k, job).total : iteration_time(own, k, job).total;
  constexpr double kRounding = 1e-9;
  return t.total > (1 + kRounding) * alone ? t.total - alone : Seconds(0);
}

LayerFigures layer_figures(const Architecture& model, const TimedIteration& timed,
                           FlopsPerSecond peak) {
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  // A split may leave the first virtual stages without a layer.
  int chunk = 0;
  while (chunk + 1 < job.plan.pp * job.plan.vp && chunk_layers(model, job.plan, chunk).size() == 0)
    ++chunk;
  EstimateSum<Seconds> attention, core, mlp, layer;
  Seconds products;
  Flops in_products, in_layer;
  for (const TrainingTerm& term : iterations.terms(job, stack, chunk)) {
    const TrainingOp& op = term.op;
    if (op.part == Part::kEmbedding || op.part == Part::kLmHead || op.name == "final_norm")
      continue;
    const Estimate<Seconds> e =
        term.time.scaled(cost_factor({parts, k, job}, parts.of_chunk(chunk), op.cost, op.pass));
    const Family family = op.cost <= TrainingCost::kHead ? Family::kGemm : Family::kCollective;
    layer.add(family, e);
    in_layer += op.count * flops(op.op);
    if (op.cost == TrainingCost::kAttention || op.cost == TrainingCost::kAttentionBackward)
      core.add(Family::kAttention, e);
    if (op.part == Part::kAttention) attention.add(family, e);
    if (op.part != Part::kMlp && op.part != Part::kMoe) continue;
    mlp.add(family, e);
    if (op.cost != TrainingCost::kProducts && op.cost != TrainingCost::kExperts) continue;
    products += e.value;
    in_products += op.count * flops(op.op);
  }
  const double share = 1.0 / std::max(1, chunk_layers(model, job.plan, chunk).size());
  return {.attention = attention.total().scaled(share),
          .attention_core = core.total().scaled(share),
          .mlp = mlp.total().scaled(share),
          .all = layer.total().scaled(share),
          .mlp_products = in_products * share,
          .flops = in_layer * share,
          .products = {in_products, peak, {products, whole.shared, whole.own, whole.origin}}};
}

}  // namespace

ExposedCommunication exposed_communication(const IterationTime& t) {
  return {.tensor = t.work[at(TrainingCost::kTensor)],
          .context = t.work[at(TrainingCost::kContext)],
          .experts = t.work[at(TrainingCost::kExpertExchange)],
          .data = t.sharding + t.reduce + t.gather,
          .sends = t.sends};
}

TrainingFigures training_figures(const Architecture& model, const TimedIteration& timed,
                                 FlopsPerSecond peak, const IterationEvents* events) {
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  TrainingFigures f;
  f.whole = whole, f.time = t, f.exposed = exposed_communication(t);
  f.gpus = static_cast<double>(job.plan.devices());
  f.tokens = static_cast<double>(job.global_batch * job.seq);
  f.flops = Flops(model_flops_per_token(model, job) * f.tokens);
  f.mfu = {f.flops / f.gpus, peak, whole};
  f.hfu = {executed_flops(parts, job), peak, whole};
  f.data_communication = data_communication(parts, job);
  if (f.data_communication > Seconds(0))
    f.data_overlap =
        std::max(Seconds(0), f.data_communication - f.exposed.data) / f.data_communication;
  f.port_contention = port_contention(timed, events != nullptr);
  f.layer = layer_figures(model, timed, peak);
  f.trained_parameters = trained_parameters(model, job);
  if (events != nullptr)
    f.peak_micro_batches = *std::max_element(events->pipeline.peak_activations.begin(),
                                             events->pipeline.peak_activations.end());
  return f;
}

}  // namespace orrery
