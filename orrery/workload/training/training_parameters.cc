#include "orrery/workload/training/training_parameters.h"

#include <algorithm>

#include "orrery/model/architecture/declared_weights.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace {

// The matrices that a job's adapters choose.
struct Adapters {
  const TrainingJob& job;
  std::vector<AdaptedProjection> list;

  void matrix(const LayerMatrix& m) {
    const auto& targets = job.lora_targets;
    const bool chosen = std::any_of(targets.begin(), targets.end(),
                                    [&](const std::string& t) { return m.adapter.is(t); });
    if (chosen)
      list.push_back({m.inputs.total(), m.outputs.total(), m.inputs.divided == 0, real(m.copies)});
  }
  void vector(const LayerVector&) {}
};

double adapter_elements(const Architecture& model, const LayerSpec& layer, const TrainingJob& job) {
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
  Adapters adapters{job, {}};
  declare_layer(layer, model.hidden, model.norm, adapters);
  return std::move(adapters.list);
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
    if (job.tuning != Tuning::kFull) lora += count * adapter_elements(model, spec, job);
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
    lora += model.layers.count(static_cast<int>(i)) *
            adapter_elements(model, model.layers.specs()[i], job);
  return lora;
}

}  // namespace orrery
