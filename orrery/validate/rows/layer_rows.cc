#include "orrery/validate/rows/layer_rows.h"

#include <array>

namespace orrery {
namespace {

constexpr std::array<LayerName, 22> kLayers = {{
    {"qkv_proj", "qkv_proj"},
    {"o_proj", "o_proj"},
    {"gate_up_proj", "gate_up_proj"},
    {"down_proj", "down_proj"},
    {"lm_head", "lm_head"},
    {"embedding", "embedding"},
    {"sampler", "sample"},
    {"layernorm", "add_norm", true},
    {"final_layernorm", "final_norm", true},
    {"qk_norm", "qk_norm", true},
    {"rotary_emb", "rope", true},
    {"act_fn", "activation", true},
    {"attn_pre_proj", "qkv_proj"},
    {"attn_post_proj", "o_proj"},
    {"mlp_up_proj", "gate_up_proj"},
    {"mlp_up_proj", "up_proj"},
    {"mlp_down_proj", "down_proj"},
    {"mlp_act", "activation"},
    {"attn_rope", "rope"},
    {"input_layernorm", "final_norm"},
    {"post_attention_layernorm", "final_norm"},
    {"emb", "embedding"},
}};

}  // namespace

std::span<const LayerName> layer_names() { return kLayers; }

}  // namespace orrery
