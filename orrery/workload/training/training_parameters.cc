#include "orrery/workload/training/training_parameters.h"

#include <algorithm>

#include "orrery/model/architecture/declared_weights.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace {

// The matrices that a job's adapters choose.
struct Adapted {
  const TrainingJob& job;
  std::vector<LayerMatrix> list;

  void matrix(const LayerMatrix& m) {
    const auto& targets = job.lora_targets;
    const bool chosen = std::any_of(targets.begin(), targets.end(),
                                    [&](const std::string& t) { return m.adapter.is(t); });
    if (chosen) list.push_back(m);
  }
  void vector(const LayerVector&) {}
};

// Adds what a rank holds of the declared weights, `times` of each.
struct HeldInTraining {
  RankShare share;
  ChunkParameters held{};
  double times = 1;

  void matrix(const LayerMatrix& m) {
    const double elements = times * (share.matrix(m) + share.biases(m));
    (m.part == WeightPart::kRoutedExperts ? held.experts : held.dense) += elements;
    if (m.part != WeightPart::kRouters && m.part != WeightPart::kEmbedding &&
        m.part != WeightPart::kLmHead)
      held.products += elements;
  }
  void vector(const LayerVector& v) { held.dense += times * share.vector(v); }
};

// Elements of the adapter of a matrix on a rank.
double adapter_elements(const LayerMatrix& m, const TrainingJob& job, const RankShare& share) {
  const int ranks = share.ranks_of(m.part);
  const double in = m.inputs.on_rank(ranks, share.cuts_groups),
               out = m.outputs.on_rank(ranks, share.cuts_groups);
  const double magnitudes = job.tuning == Tuning::kDora ? out : 0;
  return share.copies(m) * (job.lora_rank * (in + out) + magnitudes);
}

// Adds the adapters of `times` equal layers, all of which are trained.
void add_adapters(const Architecture& model, const LayerSpec& layer, const TrainingJob& job,
                  HeldInTraining& w) {
  for (const LayerMatrix& m : adapted_matrices(model, layer, job)) {
    const double elements = w.times * adapter_elements(m, job, w.share);
    (m.part == WeightPart::kRoutedExperts ? w.held.trained_experts : w.held.trained_dense) +=
        elements;
  }
}

// A search asks for every chunk of every layout: the declarations are compiled into it.
[[gnu::flatten]] void add_layer(const LayerSpec& layer, const Architecture& model,
                                HeldInTraining& w) {
  declare_layer(layer, model.hidden, model.norm, w);
}

std::int64_t padded_vocabulary(const Architecture& model, int tp) {
  const std::int64_t unit = std::int64_t{128} * tp;
  return (model.vocab + unit - 1) / unit * unit;
}

}  // namespace

std::vector<LayerMatrix> adapted_matrices(const Architecture& model, const LayerSpec& layer,
                                          const TrainingJob& job) {
  Adapted adapted{job, {}};
  declare_layer(layer, model.hidden, model.norm, adapted);
  return std::move(adapted.list);
}

ChunkParameters chunk_parameters(const Architecture& model, const TrainingJob& job, int chunk) {
  const TrainingPlan& p = job.plan;
  const StageLayers range = chunk_layers(model, p, chunk);
  const bool first = chunk == 0, last = chunk == p.pp * p.vp - 1;
  HeldInTraining w{p.rank_share()};
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const LayerSpec& layer = model.layers.specs()[i];
    w.times = model.layers.count(static_cast<int>(i), range.first, range.last);
    if (w.times == 0) continue;
    add_layer(layer, model, w);
    if (job.tuning != Tuning::kFull) add_adapters(model, layer, job, w);
  }
  w.times = 1;
  const std::int64_t rows = padded_vocabulary(model, p.tp);
  if (first) {
    declare_table(model, WeightPart::kEmbedding, rows, w);
    declare_positions(model, w);
    declare_layer_inputs(model, w);
  }
  if (last) {
    declare_residual_end(model, w);
    declare_final_norms(model, w);
    if (model.lm_head && !(first && model.tied_embeddings))
      declare_table(model, WeightPart::kLmHead, rows, w);
    declare_head(model, rows, w);
    declare_pooler(model, w);
  }
  if (job.tuning == Tuning::kFull) {
    w.held.trained_dense = w.held.dense;
    w.held.trained_experts = w.held.experts;
  }
  return w.held;
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
  HeldInTraining whole{RankShare{}};
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    whole.times = model.layers.count(static_cast<int>(i));
    add_adapters(model, model.layers.specs()[i], job, whole);
  }
  return whole.held.trained();
}

}  // namespace orrery
