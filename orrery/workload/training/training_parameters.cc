#include "orrery/workload/training/training_parameters.h"

#include <algorithm>

#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace {

double adapters(const Architecture& model, const LayerSpec& layer, const TrainingJob& job) {
  double all = 0;
  for (const AdaptedProjection& p : adapted_projections(model, layer, job)) {
    const double magnitudes = job.tuning == Tuning::kDora ? real(p.out) : 0;
    all += p.copies * (job.lora_rank * real(p.in + p.out) + magnitudes);
  }
  return all;
}

double padded_vocab(const Architecture& model, int tp) {
  const std::int64_t unit = std::int64_t{128} * tp;
  return real((model.vocab + unit - 1) / unit * unit);
}

}  // namespace

std::vector<AdaptedProjection> adapted_projections(const Architecture& model,
                                                   const LayerSpec& layer, const TrainingJob& job) {
  const std::int64_t h = model.hidden;
  std::vector<AdaptedProjection> out;
  const auto adapt = [&](std::string_view name, std::int64_t in, std::int64_t width, bool column,
                         double copies = 1) {
    const auto& targets = job.lora_targets;
    if (std::find(targets.begin(), targets.end(), name) != targets.end())
      out.push_back({in, width, column, copies});
  };
  if (const auto* s = std::get_if<SoftmaxAttention>(&layer.mixer)) {
    adapt("q", h, std::int64_t{s->heads} * s->head_dim, true);
    if (!s->shares_kv) adapt("k", h, std::int64_t{s->kv_heads} * s->head_dim, true);
    if (!s->shares_kv && !s->values_from_keys)
      adapt("v", h, std::int64_t{s->kv_heads} * s->value_dim, true);
    adapt("o", std::int64_t{s->heads} * s->value_dim, h, false);
  } else if (const auto* l = std::get_if<LatentAttention>(&layer.mixer)) {
    adapt("q", l->q_lora_rank > 0 ? l->q_lora_rank : h,
          std::int64_t{l->heads} * (l->qk_nope_dim + l->qk_rope_dim), true);
    adapt("k", h, l->kv_lora_rank + l->qk_rope_dim, true);
    adapt("v", l->kv_lora_rank, std::int64_t{l->heads} * (l->qk_nope_dim + l->value_dim), true);
    adapt("o", std::int64_t{l->heads} * l->value_dim, h, false);
  } else if (const auto* k = std::get_if<KimiDelta>(&layer.mixer)) {
    const std::int64_t width = std::int64_t{k->heads} * k->head_dim;
    for (const std::string_view name : {"q", "k", "v"}) adapt(name, h, width, true);
    adapt("o", width, h, false);
  }
  const auto mlp = [&](std::int64_t row, std::int64_t inner, bool gated, double copies) {
    if (inner == 0) return;
    if (gated) adapt("gate", row, inner, true, copies);
    adapt("up", row, inner, true, copies);
    adapt("down", inner, row, false, copies);
  };
  if (const auto* d = std::get_if<DenseMlp>(&layer.mlp)) mlp(h, d->intermediate, d->gated, 1);
  if (const auto* m = std::get_if<MoeMlp>(&layer.mlp)) {
    mlp(m->latent > 0 ? m->latent : h, m->intermediate, m->gated, m->experts);
    mlp(h, m->shared_intermediate, m->gated, 1);
  }
  return out;
}

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
    const double split = real(n.mixer + n.cross_attention + n.mlp + n.shared_experts) / p.tp;
    const double routed = 1.0 * n.experts * real(n.expert) / (p.ep * p.expert_tp());
    const double whole = real(n.latent + n.per_layer_input);
    out.dense += count * (split + whole + real(n.router + n.norms + n.residual));
    out.experts += count * routed;
    out.products += count * (split + whole + routed);
    if (job.tuning != Tuning::kFull) lora += count * adapters(model, spec, job);
  }
  const double table = padded_vocab(model, p.tp) * model.hidden / p.tp;
  const bool first = chunk == 0, last = chunk == p.pp * p.vp - 1;
  const ParameterCounts n = first || last ? count_parameters(model) : ParameterCounts{};
  if (first) out.dense += table + real(n.positions) + real(n.per_layer_inputs) / p.tp;
  if (last) out.dense += real(n.final_norms);
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

Bytes gathered_weight(const TrainingJob& job) {
  if (job.tuning == Tuning::kQlora) return Bytes(kNf4Bytes);
  if (job.precision.fp8_parameters) return Bytes(1);
  return bytes_per_element(job.precision.activations);
}

double trained_parameters(const Architecture& model, const TrainingJob& job) {
  if (job.tuning == Tuning::kFull) {
    const ParameterCounts n = count_parameters(model);
    return real(n.total() - n.towers);
  }
  double lora = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i)
    lora += model.layers.count(static_cast<int>(i)) * adapters(model, model.layers.specs()[i], job);
  return lora;
}

}  // namespace orrery
