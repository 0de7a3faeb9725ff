// The weights of a mixer or an MLP: matrices and vectors, how ranks divide them, and how
// checkpoints name them. A mixer or MLP declares them once, in its member `declare`; parameters,
// checkpoint bytes, weights on a rank, gradients, adapters and the products of a step are derived.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/model/layers/width.h"

namespace orrery {

// The parts of a model that checkpoints store in formats of their own.
enum class WeightPart {
  kEmbedding,
  kLmHead,
  kMixers,    // projections of attention and of linear attention
  kIndexers,  // of sparse and compressed attention
  kDenseMlps,
  kRoutedExperts,
  kSharedExperts,
  kLatentProjections,  // to and from the latent of routed experts
  kRouters,
  kMtp,  // all matrices of multi-token prediction layers
};

// "embedding", "lm_head", "mixers", ...
std::string_view to_text(WeightPart part);

// The name of a matrix or vector within its mixer or MLP, of at most eight characters: "q", "kv_a".
struct WeightRole {
  std::uint64_t packed = 0;

  constexpr WeightRole() = default;
  template <std::size_t N>
  consteval WeightRole(const char (&text)[N])  // NOLINT(google-explicit-constructor): a literal
      : packed(pack({text, N - 1})) {
    static_assert(N <= sizeof(packed) + 1, "a role has at most eight characters");
  }
  constexpr bool empty() const { return packed == 0; }
  // Whether the role is written so.
  constexpr bool is(std::string_view text) const {
    return text.size() <= sizeof(packed) && pack(text) == packed;
  }
  bool operator==(const WeightRole&) const = default;

 private:
  static constexpr std::uint64_t pack(std::string_view text) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
      all |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return all;
  }
};

// The modules of a mixer in the checkpoints of Llama's kin, GPT's kin and Nemotron-H.
inline constexpr std::string_view kMixerModules = "self_attn attn attention mixer self_attention";
// The modules of its indexer.
inline constexpr std::string_view kIndexerModules = "self_attn.indexer self_attn attn.indexer";

// Equal matrices that multiply rows of `inputs` elements. A declaration reads
// LayerMatrix{"q_b", queries(), whole(q_lora_rank)}.named("q_b_proj").adapted("q").
struct LayerMatrix {
  WeightRole role;        // of its own among those of its part
  Width outputs, inputs;  // at most one of the two is divided among ranks
  WeightPart part = WeightPart::kMixers;
  // Names in checkpoints, one after another with spaces between: every module joined to every leaf
  // with a dot. No leaves: no tool that quantises names it, and it stays plain.
  std::string_view leaves = {};
  std::string_view modules = kMixerModules;
  // The name by which adapters (LoRA) choose it: q, k, v, o, gate, up, down. Empty: none adapts it.
  WeightRole adapter = {};
  bool bias = false;  // one element for each output
  // A tool that quantises "all linear layers" leaves it as it is: routers, gates of a few outputs,
  // compressors.
  bool kept_plain = false;
  std::int64_t copies = 1;  // one for each routed expert

  constexpr std::int64_t elements() const {
    return copies * outputs.total() * (inputs.total() + (bias ? 1 : 0));
  }

  constexpr LayerMatrix of(WeightPart which) const { return with(&LayerMatrix::part, which); }
  constexpr LayerMatrix named(std::string_view all) const {
    return with(&LayerMatrix::leaves, all);
  }
  constexpr LayerMatrix in(std::string_view all) const { return with(&LayerMatrix::modules, all); }
  constexpr LayerMatrix of_indexer(std::string_view all = kIndexerModules) const {
    return of(WeightPart::kIndexers).in(all);
  }
  constexpr LayerMatrix adapted(WeightRole by) const { return with(&LayerMatrix::adapter, by); }
  constexpr LayerMatrix biased(bool is = true) const { return with(&LayerMatrix::bias, is); }
  constexpr LayerMatrix plain(bool is = true) const { return with(&LayerMatrix::kept_plain, is); }
  constexpr LayerMatrix times(std::int64_t n) const { return with(&LayerMatrix::copies, n); }

 private:
  template <class T>
  constexpr LayerMatrix with(T LayerMatrix::* member, T value) const {
    LayerMatrix out = *this;
    out.*member = value;
    return out;
  }
};

// Weights that are no matrix: norms, sinks, convolutions, decays.
struct LayerVector {
  WeightRole role;
  Width elements;
  WeightPart part = WeightPart::kMixers;
};

// How many ranks divide a layer.
struct RankShare {
  int tp = 1;         // mixers, dense MLPs and shared experts
  int expert_tp = 1;  // each routed expert
  int ep = 1;         // the routed experts
  int redundant = 0;  // further copies of routed experts in the deployment
  // Ranks divide a matrix of fewer groups than ranks, and gather its products. Serving engines copy
  // groups. Megatron-Core cuts key-value heads from version 0.16 on (attention.py). Earlier
  // versions refuse such a tp.
  bool cuts_groups = false;

  constexpr int ranks_of(WeightPart part) const {
    return part == WeightPart::kRoutedExperts ? expert_tp : tp;
  }
  // Equal matrices of a rank.
  constexpr double copies(const LayerMatrix& m) const {
    const auto n = static_cast<double>(m.copies);
    return m.part == WeightPart::kRoutedExperts ? (n + redundant) / ep : n;
  }
  // Elements on a rank: of matrices without their biases, of those biases, and of vectors.
  constexpr double matrix(const LayerMatrix& m) const {
    const int ranks = ranks_of(m.part);
    return copies(m) * m.outputs.on_rank(ranks, cuts_groups) * m.inputs.on_rank(ranks, cuts_groups);
  }
  constexpr double biases(const LayerMatrix& m) const {
    return m.bias ? copies(m) * m.outputs.on_rank(ranks_of(m.part), cuts_groups) : 0;
  }
  constexpr double vector(const LayerVector& v) const {
    return v.elements.on_rank(tp, cuts_groups);
  }
};

}  // namespace orrery
