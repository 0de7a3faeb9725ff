// Token mixers: the half of a layer in which tokens see each other. Attention (softmax, latent,
// compressed) caches something for every token; linear attention keeps a state of constant size.
//
// A mixer is a struct of sizes of the whole model, before any sharding, with these members. Every
// other room asks them, by the functions below, and knows no mixer by its name; only its ops
// (workload/inference) and its reader (model/families) do.
//
//   static constexpr std::string_view kKind   "softmax", "latent" or "linear": the kind of layer of
//                                             which profiles of engines say what was measured
//   void declare(Weights& w, int64 hidden)    its weights: w.matrix(LayerMatrix), w.vector(
//                                             LayerVector). A template, so that sums and products
//                                             of a step cost no lists.
//   KeptState kept()                          what it keeps between tokens
//   void divide(TensorRules& rules)           what a tensor parallel size must divide
//   Width buffers()                           elements for each token in the buffers that one step
//                                             of inference has at once: inputs and outputs of the
//                                             core, and what its projections make
//   void save(Saved& s)                       the tensors that its backward pass reads
//                                             (saved_tensors.h)
//   std::string label()                       tells it from other mixers of a model: "window 128"
//   LayerFacts facts()                        for people
//
// and, if it has them:
//
//   AttentionWidths attention()               sizes of attention over keys in training
//   DecodeWidths decode()                     the same while decoding
//   double state_products()                   multiply-adds of a token with recurrent state that
//                                             MFU counts
//   std::string_view untrained()              the part whose backward pass has no ops
//   static constexpr bool kUpProjections      has RecomputeModule::kMlaUpProj
//
// Adding a mixer: docs/adding-a-model.md.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "orrery/model/layers/kept_state.h"
#include "orrery/model/layers/layer_facts.h"
#include "orrery/model/layers/layer_work.h"
#include "orrery/model/layers/mixers.def"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

// The layer has no token mixer (MLP-only layers of Nemotron-H).
struct NoMixer {
  static constexpr std::string_view kKind = "";
  bool operator==(const NoMixer&) const = default;
  template <class Weights>
  constexpr void declare(Weights&, std::int64_t) const {}
  KeptState kept() const { return {}; }
  constexpr void divide(TensorRules&) const {}
  constexpr Width buffers() const { return {}; }
  template <class Saved>
  void save(Saved&) const {}
  std::string label() const { return ""; }
  LayerFacts facts() const { return {}; }
};

#define MIXER(Type) , Type
using Mixer = std::variant<NoMixer
#include "orrery/model/layers/mixers.def"
                           >;
#undef MIXER

inline bool has_mixer(const Mixer& mixer) { return !std::holds_alternative<NoMixer>(mixer); }

// Calls weights.matrix and weights.vector for each of the mixer's weights.
template <class Weights>
constexpr void declare(const Mixer& mixer, std::int64_t hidden, Weights& weights) {
  std::visit([&](const auto& m) { m.declare(weights, hidden); }, mixer);
}

template <class Saved>
void save_tensors(const Mixer& mixer, Saved& saved) {
  std::visit([&](const auto& m) { m.save(saved); }, mixer);
}

KeptState kept_state(const Mixer& mixer);
AttentionWidths attention_widths(const Mixer& mixer);  // none() if it has none
DecodeWidths decode_widths(const Mixer& mixer);
double state_products(const Mixer& mixer);            // 0 if it has none
std::string_view untrained_part(const Mixer& mixer);  // empty: the mixer can be trained
bool has_up_projections(const Mixer& mixer);
void divide(const Mixer& mixer, TensorRules& rules);
Width buffer_width(const Mixer& mixer);
std::string_view mixer_kind(const Mixer& mixer);
std::string mixer_label(const Mixer& mixer);
LayerFacts mixer_facts(const Mixer& mixer);

}  // namespace orrery
