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
//   products     what torchtitan's selective checkpointing computes again
//                (torchtitan/distributed/activation_checkpoint.py): every second product, and all
//                elementwise kernels of a layer; the output of attention is kept. It excludes the
//                others, and Megatron does not have it
//   mla_up_proj  latent attention: queries, keys and values from their latents, with their rotation
#pragma once

#include <array>
#include <string_view>

namespace orrery {

enum class RecomputeModule {
  kCoreAttention,
  kMlp,
  kMoe,
  kMoeActivation,
  kLayerNorm,
  kMlaUpProj,
  kProducts
};
// The names of the modules, in the order of RecomputeModule.
inline constexpr std::array<std::string_view, 7> kRecomputeModules = {
    "core_attn", "mlp", "moe", "moe_act", "layernorm", "mla_up_proj", "products"};

}  // namespace orrery
