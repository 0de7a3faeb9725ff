// Modules of a layer that selective recomputation computes again in the backward pass, so that what
// they save in the forward pass is dropped: Megatron Core's --recompute-modules
// (megatron/core/transformer/transformer_config.py).
//
//   core_attn    scores, softmax and product with the values; with FlashAttention its kernel runs
//                again and saves little memory
//   mlp          dense MLPs, from the normed input
//   moe          routed and shared experts, the router and the exchange of tokens, from the normed
//                input
//   moe_act      the activation between the two products of routed experts
//   layernorm    the norms before attention and before the MLP
//   mla_up_proj  latent attention: queries, keys and values from their latents, with their rotation
#pragma once

#include <array>
#include <string_view>

namespace orrery {

enum class RecomputeModule { kCoreAttention, kMlp, kMoe, kMoeActivation, kLayerNorm, kMlaUpProj };
// The names of the modules, in the order of RecomputeModule.
inline constexpr std::array<std::string_view, 6> kRecomputeModules = {
    "core_attn", "mlp", "moe", "moe_act", "layernorm", "mla_up_proj"};

}  // namespace orrery
