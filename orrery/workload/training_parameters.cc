#include "orrery/workload/training_parameters.h"

#include <algorithm>

#include "orrery/model/parameters.h"

namespace orrery {
namespace {

// Inputs and outputs of the projections that a target names, of the whole model; fused projections
// count by the parts that are named.
struct Adapted {
  double inputs = 0, outputs = 0;  // summed over the projections
};

void adapt(Adapted& a, double inputs, double outputs) { a.inputs += inputs, a.outputs += outputs; }

Adapted adapted(const Architecture& model, const LayerSpec& layer,
                const std::vector<std::string>& targets) {
  const auto named = [&](std::string_view t) {
    return std::find(targets.begin(), targets.end(), t) != targets.end();
  };
  const double h = model.hidden;
  Adapted a;
  if (const auto* s = std::get_if<SoftmaxAttention>(&layer.mixer)) {
    if (named("q")) adapt(a, h, 1.0 * s->heads * s->head_dim);
    if (named("k")) adapt(a, h, 1.0 * s->kv_heads * s->head_dim);
    if (named("v")) adapt(a, h, 1.0 * s->kv_heads * s->value_dim);
    if (named("o")) adapt(a, 1.0 * s->heads * s->value_dim, h);
  } else if (const auto* l = std::get_if<LatentAttention>(&layer.mixer)) {
    const double q = l->q_lora_rank > 0 ? l->q_lora_rank : h;
    if (named("q")) adapt(a, q, 1.0 * l->heads * (l->qk_nope_dim + l->qk_rope_dim));
    if (named("k")) adapt(a, h, l->kv_lora_rank + l->qk_rope_dim);
    if (named("v")) adapt(a, l->kv_lora_rank, 1.0 * l->heads * (l->qk_nope_dim + l->value_dim));
    if (named("o")) adapt(a, 1.0 * l->heads * l->value_dim, h);
  }
  const auto mlp = [&](double inner, bool gated, double copies) {
    if (inner == 0) return;
    if (named("gate") && gated) adapt(a, copies * h, copies * inner);
    if (named("up")) adapt(a, copies * h, copies * inner);
    if (named("down")) adapt(a, copies * inner, copies * h);
  };
  if (const auto* d = std::get_if<DenseMlp>(&layer.mlp)) mlp(d->intermediate, d->gated, 1);
  if (const auto* m = std::get_if<MoeMlp>(&layer.mlp)) {
    mlp(m->intermediate, m->gated, m->experts);
    mlp(m->shared_intermediate, m->gated, 1);
  }
  return a;
}

double adapters(const Architecture& model, const LayerSpec& layer, const TrainingJob& job) {
  const Adapted a = adapted(model, layer, job.lora_targets);
  return job.lora_rank * (a.inputs + a.outputs) + (job.tuning == Tuning::kDora ? a.outputs : 0);
}

double padded_vocab(const Architecture& model, int tp) {
  const std::int64_t unit = std::int64_t{128} * tp;
  return static_cast<double>((model.vocab + unit - 1) / unit * unit);
}

}  // namespace

ChunkParameters chunk_parameters(const Architecture& model, const TrainingJob& job, int chunk) {
  const TrainingPlan& p = job.plan;
  const StageLayers range = chunk_layers(model, p, chunk);
  ChunkParameters out;
  double lora = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const LayerSpec& spec = model.layers.specs()[i];
    const int count = model.layers.count(static_cast<int>(i), range.first, range.last);
    if (count == 0) continue;
    const LayerParameters n = count_parameters(spec, model.hidden, model.norm);
    const double split =
        static_cast<double>(n.mixer + n.cross_attention + n.mlp + n.shared_experts) / p.tp;
    const double routed = 1.0 * n.experts * static_cast<double>(n.expert) / (p.ep * p.expert_tp());
    out.dense += count * (split + static_cast<double>(n.router + n.norms));
    out.experts += count * routed;
    out.products += count * (split + routed);
    if (job.tuning != Tuning::kFull) lora += count * adapters(model, spec, job);
  }
  const ParameterCounts n = count_parameters(model);
  const double table = padded_vocab(model, p.tp) * model.hidden / p.tp;
  const bool first = chunk == 0, last = chunk == p.pp * p.vp - 1;
  if (first) out.dense += table + static_cast<double>(n.positions);
  if (last) out.dense += static_cast<double>(n.final_norms);
  if (last && model.lm_head && !(first && model.tied_embeddings)) out.dense += table;
  if (job.tuning == Tuning::kFull) {
    out.trained_dense = out.dense;
    out.trained_experts = out.experts;
  } else {
    // One side of each adapter is whole on every tensor-parallel rank.
    out.trained_dense = lora * 0.5 * (1 + 1.0 / p.tp);
  }
  return out;
}

double trained_parameters(const Architecture& model, const TrainingJob& job) {
  if (job.tuning == Tuning::kFull) return static_cast<double>(count_parameters(model).total());
  double lora = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i)
    lora += model.layers.count(static_cast<int>(i)) * adapters(model, model.layers.specs()[i], job);
  return lora;
}

}  // namespace orrery
