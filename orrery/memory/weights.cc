#include "orrery/memory/weights.h"

#include "orrery/model/architecture/declared_weights.h"

namespace orrery {
namespace {

// Numbers of elements, by the format in which they are stored.
struct Held {
  double matrices = 0;  // Precision::weights
  double experts = 0;   // Precision::experts
  double plain = 0;     // Precision::activations
  double mixers = 0;    // Precision::mixer_weights()
  double lm_head = 0;   // Precision::lm_head
};

// Adds what a rank holds of the declared weights, `times` of each.
struct HeldOnRank {
  RankShare share;
  Held held{};
  double times = 1;

  double& of(const LayerMatrix& m) {
    switch (m.part) {
      // The small projections that a checkpoint leaves plain count as the others of their mixer.
      case WeightPart::kMixers:
      case WeightPart::kIndexers:
        return held.mixers;
      case WeightPart::kRoutedExperts:
        return held.experts;
      case WeightPart::kLmHead:
        return m.kept_plain ? held.plain : held.lm_head;
      default:
        return m.kept_plain ? held.plain : held.matrices;
    }
  }
  void matrix(const LayerMatrix& m) {
    of(m) += times * share.matrix(m);
    held.plain += times * share.biases(m);
  }
  void vector(const LayerVector& v) { held.plain += times * share.vector(v); }
};

// Rows of the embedding and the LM head are padded to a multiple of 64 (DEFAULT_VOCAB_PADDING_SIZE
// in vocab_parallel_embedding.py of vLLM and SGLang).
std::int64_t padded_vocabulary(const Architecture& model) {
  constexpr int kRows = 64;
  return std::int64_t{model.vocab + kRows - 1} / kRows * kRows;
}

void add_first(const Architecture& model, HeldOnRank& w) {
  for (const Tower& tower : model.towers)
    w.vector({.role = "tower", .elements = divided(tower.parameters)});
  declare_table(model, WeightPart::kEmbedding, padded_vocabulary(model), w);
  declare_positions(model, w);
  declare_layer_inputs(model, w);
}

void add_last(const Architecture& model, bool has_table, HeldOnRank& w) {
  declare_residual_end(model, w);
  declare_final_norms(model, w);
  if (model.lm_head && !(model.tied_embeddings && has_table))
    declare_table(model, WeightPart::kLmHead, padded_vocabulary(model), w);
  declare_head(model, padded_vocabulary(model), w);
  declare_pooler(model, w);
}

}  // namespace

Bytes stage_weights(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                    int stage) {
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  const bool first = stage == 0, last = stage == plan.pp - 1;
  HeldOnRank w{plan.rank_share()};
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    w.times = model.layers.count(static_cast<int>(i), range.first, range.last);
    if (w.times > 0) declare_layer(model.layers.specs()[i], model.hidden, model.norm, w);
  }
  w.times = 1;
  if (first) add_first(model, w);
  if (last) add_last(model, first, w);
  const Format lm_head =
      model.tied_embeddings ? plain_format(precision.activations) : precision.lm_head;
  return w.held.matrices * properties(precision.weights).weight +
         w.held.mixers * properties(precision.mixer_weights()).weight +
         w.held.experts * properties(precision.experts).weight +
         w.held.lm_head * properties(lm_head).weight +
         w.held.plain * bytes_per_element(precision.activations);
}

}  // namespace orrery
