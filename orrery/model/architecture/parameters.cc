#include "orrery/model/architecture/parameters.h"

#include <array>

#include "orrery/base/index.h"
#include "orrery/model/architecture/declared_weights.h"

namespace orrery {
namespace {

using Count = std::int64_t;

// Adds up what is declared.
struct Elements {
  Count sum = 0;
  constexpr void matrix(const LayerMatrix& m) { sum += m.elements(); }
  constexpr void vector(const LayerVector& v) { sum += v.elements.total(); }
};

// The same by part.
struct ElementsByPart {
  std::array<Count, static_cast<std::size_t>(WeightPart::kMtp) + 1> sums{};
  constexpr Count& at(WeightPart part) { return sums[index(part)]; }
  constexpr void matrix(const LayerMatrix& m) { at(m.part) += m.elements(); }
  constexpr void vector(const LayerVector& v) { at(v.part) += v.elements.total(); }
};

template <class Declare>
Count sum_of(const Declare& declare_them) {
  Elements all;
  declare_them(all);
  return all.sum;
}

Count stack_size(const LayerStack& stack, const Architecture& model, bool active) {
  Count n = 0;
  for (std::size_t i = 0; i < stack.specs().size(); ++i) {
    const LayerParameters one = count_parameters(stack.specs()[i], model.hidden, model.norm);
    n += stack.count(static_cast<int>(i)) * (active ? one.active() : one.total());
  }
  return n;
}

}  // namespace

// A search counts the layers of every stage of every plan: the declarations are compiled into it.
[[gnu::flatten]] LayerParameters count_parameters(const LayerSpec& layer, int hidden, Norm norm) {
  LayerParameters n;
  n.mixer = sum_of([&](Elements& w) { declare(layer.mixer, hidden, w); });
  if (layer.cross_attention)
    n.cross_attention = sum_of([&](Elements& w) { layer.cross_attention->declare(w, hidden); });
  ElementsByPart mlp;
  declare(layer.mlp, hidden, mlp);
  n.mlp = mlp.at(WeightPart::kDenseMlps);
  n.router = mlp.at(WeightPart::kRouters);
  n.shared_experts = mlp.at(WeightPart::kSharedExperts);
  n.latent = mlp.at(WeightPart::kLatentProjections);
  if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
    n.experts = moe->experts;
    n.top_k = moe->top_k;
    n.expert = mlp.at(WeightPart::kRoutedExperts) / moe->experts;
  }
  n.norms = sum_of([&](Elements& w) { declare_norms(layer, hidden, norm, w); });
  n.residual = sum_of([&](Elements& w) { declare_residual(layer, hidden, w); });
  n.per_layer_input = sum_of([&](Elements& w) { declare_layer_input(layer, hidden, norm, w); });
  return n;
}

ParameterCounts count_parameters(const Architecture& model) {
  ParameterCounts n;
  n.tied = model.tied_embeddings;
  n.embedding =
      sum_of([&](Elements& w) { declare_table(model, WeightPart::kEmbedding, model.vocab, w); });
  n.positions = sum_of([&](Elements& w) {
    declare_positions(model, w);
    declare_residual_end(model, w);
  });
  n.layers = stack_size(model.layers, model, false) + stack_size(model.encoder, model, false);
  n.layers_active = stack_size(model.layers, model, true) + stack_size(model.encoder, model, true);
  n.per_layer_inputs = sum_of([&](Elements& w) { declare_layer_inputs(model, w); });
  for (const Tower& tower : model.towers) n.towers += tower.parameters;
  n.final_norms = sum_of([&](Elements& w) { declare_final_norms(model, w); });
  n.lm_head = sum_of([&](Elements& w) {
    if (model.lm_head && !model.tied_embeddings)
      declare_table(model, WeightPart::kLmHead, model.vocab, w);
    declare_head(model, model.vocab, w);
  });
  n.pooler = sum_of([&](Elements& w) { declare_pooler(model, w); });
  if (model.mtp) {
    const Count hidden = model.hidden;
    const Count one = count_parameters(model.mtp->layer, model.hidden, model.norm).total();
    n.mtp = model.mtp->layers * (one + 2 * hidden * hidden + 3 * norm_elements(model.norm, hidden));
  }
  return n;
}

std::int64_t checkpoint_parameters(const Architecture& model) {
  const ParameterCounts n = count_parameters(model);
  Count all = n.total() + n.mtp;
  if (model.mtp && model.mtp->copies_tables) {
    all += 2 * model.mtp->layers * Count{model.vocab} * model.hidden;
  }
  return all;
}

Bytes checkpoint_bytes(const Architecture& model) {
  Count plain = checkpoint_parameters(model);
  Bytes bytes;
  for (const StoredPart& part : model.quantization.parts) {
    plain -= part.elements;
    bytes += part.bytes;
  }
  return bytes + static_cast<double>(plain) * bytes_per_element(model.dtype);
}

}  // namespace orrery
