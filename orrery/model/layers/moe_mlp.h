// A mixture of experts: a router hidden x experts picks top_k experts for each token; shared
// experts see every token.
//
// Ranks divide the inner widths of shared experts, and share the routed experts among them
// (RankShare). Every rank holds the router, the gate of the shared experts, and the projections to
// and from a latent (shared_experts.py and moe_layer.py of Megatron-Core, qwen2_moe.py of vLLM).
#pragma once

#include <cstdint>
#include <string>

#include "orrery/model/layers/dense_mlp.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

struct MoeMlp {
  int experts = 0;
  int top_k = 0;
  int intermediate = 0;  // of one routed expert
  bool gated = true;
  bool bias = false;  // on every matrix of the routed experts (gpt-oss)
  Activation activation = Activation::kSilu;
  int shared_intermediate = 0;  // of all shared experts together, gated as the others; 0: none
  bool shared_gate = false;     // a learned gate hidden x 1 scales the shared output (Qwen 2 MoE)
  bool router_bias = false;     // one bias or score correction per expert
  bool router_fp32 = false;     // its product is computed in fp32, whatever the activations are
  bool norm_topk = false;       // the weights of the chosen experts are normalised to sum 1
  int groups = 1;  // device-limited routing: experts are picked within `top_groups` of `groups`
  int top_groups = 1;
  // Routed experts work on a projection of the hidden state to this many elements, and their sum is
  // projected back (Nemotron 3, Kimi-K3). 0: on the hidden state.
  int latent = 0;
  bool latent_norm = false;    // a norm of `latent` before the projection back (Kimi-K3)
  bool router_scales = false;  // an input scale of hidden and a scale for each expert (Gemma 4)
  bool hash_routing = false;   // experts are looked up by token id; the router weighs them only
  bool operator==(const MoeMlp&) const = default;

  // Elements in and out of a routed expert.
  constexpr std::int64_t row(std::int64_t hidden) const { return latent > 0 ? latent : hidden; }

  constexpr MlpMatrices routed_matrices() const {
    return {.part = WeightPart::kRoutedExperts,
            .modules = beside() ? kExpertsBeside : kExperts,
            .inner = intermediate,
            .gated = gated,
            .bias = bias,
            .copies = experts};
  }
  constexpr MlpMatrices shared_matrices() const {
    return {.part = WeightPart::kSharedExperts,
            .modules = beside() ? kMlpModules : kShared,
            .inner = shared_intermediate,
            .gated = gated};
  }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    routed_matrices().declare(w, row(hidden));
    if (shared_intermediate > 0) shared_matrices().declare(w, hidden);
    const Width row = whole(hidden);
    w.matrix(LayerMatrix{"router", whole(experts), row}
                 .of(WeightPart::kRouters)
                 .in(beside() ? "router" : "mlp block_sparse_moe ffn feed_forward mixer moe")
                 .named("gate router proj")
                 .biased(router_bias)
                 .plain());
    if (router_scales) w.vector({"scales", whole(hidden + experts), WeightPart::kRouters});
    if (shared_gate)
      w.matrix(LayerMatrix{"s_gate", whole(1), row}
                   .of(WeightPart::kRouters)
                   .in("mlp")
                   .named("shared_expert_gate")
                   .plain());
    if (latent > 0) declare_latent(w, hidden);
  }

  constexpr void divide(TensorRules& rules) const {
    if (shared_intermediate > 0)
      rules.divides_width(shared_intermediate, "shared experts' intermediate size");
  }

  std::string label() const { return "moe"; }
  std::string text() const;

 private:
  // Gemma 4 has the experts beside the MLP that every token sees.
  constexpr bool beside() const { return router_scales; }

  static constexpr std::string_view kExperts =
      "mlp.experts.0 block_sparse_moe.experts.0 ffn.experts.0 feed_forward.experts.0 "
      "mixer.experts.0 moe.experts.0";
  static constexpr std::string_view kExpertsBeside = "experts.0 moe.experts.0";
  static constexpr std::string_view kShared =
      "mlp.shared_experts mlp.shared_expert ffn.shared_experts feed_forward.shared_expert "
      "mixer.shared_experts block_sparse_moe.shared_experts share_expert";
  // Kimi-K3 names none of them and stores them in 16 bits: with the experts alone in mxfp4, the
  // tensors of its index sum up to its total_size.
  template <class Weights>
  constexpr void declare_latent(Weights& w, std::int64_t hidden) const {
    constexpr auto kPart = WeightPart::kLatentProjections;
    constexpr std::string_view kModules = "mixer mlp block_sparse_moe";
    const Width row = whole(hidden), inner = whole(latent);
    const LayerMatrix down{"latent_d", inner, row, kPart}, up{"latent_u", row, inner, kPart};
    w.matrix(down.in(kModules).named("fc1_latent_proj").plain());
    w.matrix(up.in(kModules).named("fc2_latent_proj").plain());
    if (latent_norm) w.vector({"latent_n", inner, kPart});
  }
};

}  // namespace orrery
