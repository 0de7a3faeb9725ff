// The weights of a model beside its mixers and MLPs, declared as those are (layers/mixers.h): the
// frame of a layer, and the tables before and after the layers.
//
// `Weights` has matrix(LayerMatrix) and vector(LayerVector). Every rank holds the norms, what joins
// residual streams, learned positions and the small layers of encoders. Ranks divide the rows of
// the vocabulary and of per-layer inputs (VocabParallelEmbedding of vLLM and of Megatron-Core;
// gemma4.py of vLLM).
#pragma once

#include <cstdint>

#include "orrery/model/architecture/architecture.h"

namespace orrery {

constexpr std::int64_t norm_elements(Norm norm, std::int64_t width) {
  return norm == Norm::kLayer ? 2 * width : width;
}

template <class Weights>
void declare_norms(const LayerSpec& layer, std::int64_t hidden, Norm norm, Weights& w) {
  w.vector({"norms", whole(layer.norms * norm_elements(norm, hidden))});
}

// The weights by which the halves of a layer read and write a residual that is not plain.
template <class Weights>
void declare_residual(const LayerSpec& layer, std::int64_t hidden, Weights& w) {
  constexpr std::int64_t kHalves = 2, kScales = 3;
  if (layer.residual_streams > 1) {
    const std::int64_t streams = layer.residual_streams, rows = (2 + streams) * streams;
    w.matrix(LayerMatrix{"streams", whole(rows), whole(streams * hidden)}
                 .of(WeightPart::kRouters)
                 .biased()
                 .plain()
                 .times(kHalves));
    w.vector({"scales", whole(kHalves * kScales)});
  }
  // A query and a norm of each half.
  if (layer.residual_sources > 0) w.vector({"sources", whole(kHalves * 2 * hidden)});
}

// The gate, the projection back and the norm of the layer's own input.
template <class Weights>
void declare_layer_input(const LayerSpec& layer, std::int64_t hidden, Norm norm, Weights& w) {
  if (layer.per_layer_input == 0) return;
  const Width row = whole(hidden), input = whole(layer.per_layer_input);
  w.matrix(LayerMatrix{"ple_gate", input, row}
               .of(WeightPart::kDenseMlps)
               .in("mlp")
               .named("per_layer_input_gate")
               .plain());
  w.matrix(LayerMatrix{"ple_proj", row, input}
               .of(WeightPart::kDenseMlps)
               .in("mlp")
               .named("per_layer_projection")
               .plain());
  w.vector({"ple_norm", whole(norm_elements(norm, hidden))});
}

// All weights of a layer.
template <class Weights>
void declare_layer(const LayerSpec& layer, std::int64_t hidden, Norm norm, Weights& w) {
  declare(layer.mixer, hidden, w);
  if (layer.cross_attention) layer.cross_attention->declare(w, hidden);
  declare(layer.mlp, hidden, w);
  declare_norms(layer, hidden, norm, w);
  declare_residual(layer, hidden, w);
  declare_layer_input(layer, hidden, norm, w);
}

// The token table or the LM head, with `rows` rows of the vocabulary, which engines pad.
template <class Weights>
void declare_table(const Architecture& model, WeightPart part, std::int64_t rows, Weights& w) {
  w.matrix(LayerMatrix{"table", divided(rows), whole(model.hidden)}.of(part).plain(
      part == WeightPart::kEmbedding));
}

// The bias of the LM head, and the dense layer and the norm before that of BERT.
template <class Weights>
void declare_head(const Architecture& model, std::int64_t rows, Weights& w) {
  if (!model.lm_head) return;
  const Width row = whole(model.hidden);
  if (model.lm_head_bias) w.vector({"bias", divided(rows)});
  if (!model.lm_head_transform) return;
  w.matrix(LayerMatrix{"dense", row, row}.of(WeightPart::kLmHead).biased().plain());
  w.vector({"norm", whole(norm_elements(model.norm, model.hidden))});
}

// Learned positions, segments, T5's relative bias of each stack, the norm after the embedding.
template <class Weights>
void declare_positions(const Architecture& model, Weights& w) {
  const std::int64_t rows = std::int64_t{model.position_rows} + model.token_types;
  w.vector({"position", whole(rows * model.hidden)});
  if (model.embedding_norm) w.vector({"norm", whole(norm_elements(model.norm, model.hidden))});
  for (const LayerStack* stack : {&model.layers, &model.encoder}) {
    if (stack->empty() || model.relative_buckets == 0) continue;
    const std::int64_t heads = mixer_facts(stack->at(0).mixer).heads;
    w.vector({"relative", whole(model.relative_buckets * heads)});
  }
}

// The table of per-layer inputs, the projection of the embedding to them and its norm.
template <class Weights>
void declare_layer_inputs(const Architecture& model, Weights& w) {
  if (model.per_layer_vocab == 0 || model.layers.empty()) return;
  const std::int64_t width = model.layers.at(0).per_layer_input, all = width * model.layers.size();
  w.vector({"ple_rows", divided(model.per_layer_vocab * all)});
  w.vector({"ple_in", divided(model.hidden * all) + whole(width)});
}

// The norms after the last layer, of the decoder and the encoder.
template <class Weights>
void declare_final_norms(const Architecture& model, Weights& w) {
  const int ends = model.kind == Kind::kEncoderDecoder ? 2 : 1;
  if (model.final_norm) w.vector({"norm", whole(ends * norm_elements(model.norm, model.hidden))});
}

// The weights that join residual streams or blocks before the final norm.
template <class Weights>
void declare_residual_end(const Architecture& model, Weights& w) {
  if (model.layers.empty()) return;
  const std::int64_t hidden = model.hidden;
  const LayerSpec& last = model.layers.at(model.layers.size() - 1);
  const std::int64_t streams = last.residual_streams;
  if (streams > 1) {
    w.vector({"streams", whole(streams * streams * hidden + streams + 1)});
  } else if (last.residual_sources > 0) {
    w.vector({"sources", whole(2 * hidden)});
  }
}

// BERT's pooler and its two-way head.
template <class Weights>
void declare_pooler(const Architecture& model, Weights& w) {
  if (!model.pooler) return;
  const Width row = whole(model.hidden);
  for (const Width& outputs : {row, whole(2)}) {
    w.matrix(LayerMatrix{"pooler", outputs, row}.of(WeightPart::kLmHead).biased().plain());
  }
}

}  // namespace orrery
