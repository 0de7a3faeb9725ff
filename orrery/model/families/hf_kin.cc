// Families that differ from Llama in norms, biases, windows or experts: Seed-OSS, SmolLM3, OLMo 2
// and 3, EXAONE 4, Arcee, Ernie 4.5, Hunyuan, Ling and Ring 2.0, dots.llm1, Granite 4.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// Layers of this attention: the first `dense` with the config's gated MLP, the others with experts.
Architecture dense_then_experts(const HfConfig& c, Architecture m, const SoftmaxAttention& a,
                                int dense, const MoeMlp& moe) {
  const int layers = layer_count(c);
  LayerSpec layer;
  layer.mixer = a;
  if (dense > 0) layer.mlp = read_gated_mlp(c);
  m.layers.append(layer, std::min(dense, layers));
  layer.mlp = moe;
  m.layers.append(layer, layers - std::min(dense, layers));
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
  return m;
}

// A number, or a list that has the same number for each layer.
int same_in_all_layers(const HfConfig& c, Key key, int most) {
  const Node* node = c.find(key);
  if (node == nullptr || !node->is_list()) return c.size(key, most);
  const std::vector<int> values = c.counts(key, most);
  check_per_layer(c, key, values.size(), layer_count(c));
  for (const int v : values) {
    if (v != values.front() || v == 0) c.fail(key, "layers with other experts are not supported");
  }
  return values.front();
}

// True for the layers with a window: by layer_types, else by sliding_window_pattern, which is a
// period whose last layer sees the whole context, as a number or as letters ("LLLG").
std::vector<bool> window_layers(const HfConfig& c, int layers) {
  std::vector<bool> out = read_layer_types(c, layers, "sliding_attention");
  if (!out.empty()) return out;
  const Node* pattern = c.find({"sliding_window_pattern"});
  if (pattern == nullptr) return std::vector<bool>(static_cast<std::size_t>(layers), false);
  const bool letters = pattern->quoted();
  const int period = letters ? static_cast<int>(pattern->text().size())
                             : c.size({"sliding_window_pattern"}, limit::kLayers);
  if (period < 1 || (letters && pattern->text().find_first_not_of("LG") != std::string::npos)) {
    pattern->fail("expected a period, or the letters L and G for each of its layers");
  }
  for (int i = 0; i < layers; ++i) {
    const auto place = static_cast<std::size_t>(i % period);
    out.push_back(letters ? pattern->text()[place] == 'L' : i % period != period - 1);
  }
  return out;
}

// Windows of sliding_window in the layers that have one; `rope_outside`: the others rotate too.
Architecture windowed(const HfConfig& c, Architecture m, SoftmaxAttention a, bool rope_outside) {
  const int layers = layer_count(c);
  const int window = c.count_or({"sliding_window"}, 0, limit::kContext);
  const std::vector<bool> local = window_layers(c, layers);
  LayerSpec layer;
  layer.mlp = read_gated_mlp(c);
  for (int i = 0; i < layers; ++i) {
    const bool inside = window > 0 && local[index(i)];
    a.window = inside ? window : 0;
    a.rope = inside || window == 0 || rope_outside;
    layer.mixer = a;
    m.layers.append(layer);
  }
  return m;
}

}  // namespace

// Biases on q, k and v (attention_bias) and on o (attention_out_bias) are switches of their own
// (modeling_seed_oss.py of transformers).
Architecture read_seed_oss(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, c.flag_or({"attention_bias"}, true), c.flag_or({"attention_out_bias"}, false));
  c.require_flag({"mlp_bias"}, false, false);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  m.layers.append(layer, layer_count(c));
  return m;
}

// Every fourth layer is not rotated, or those that no_rope_layers says (1: rotated;
// modeling_smollm3.py of transformers).
Architecture read_smollm3(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  c.require_flag({"use_sliding_window"}, false, false);
  const int layers = layer_count(c);
  const int interval = c.size_or({"no_rope_layer_interval"}, 4, limit::kLayers);
  std::vector<int> rope;
  if (c.has({"no_rope_layers"})) rope = c.counts({"no_rope_layers"}, 1);
  if (rope.empty()) {
    for (int i = 0; i < layers; ++i) rope.push_back((i + 1) % interval != 0);
  }
  check_per_layer(c, {"no_rope_layers"}, rope.size(), layers);
  LayerSpec layer;
  layer.mlp = read_gated_mlp(c);
  for (const int rotated : rope) {
    a.rope = rotated != 0;
    layer.mixer = a;
    m.layers.append(layer);
  }
  return m;
}

// OLMo 2 and 3: norms after attention and MLP instead of before, and over all heads of queries and
// of keys (modeling_olmo2.py, modeling_olmo3.py of transformers). OLMo 3 has windows in three of
// four layers.
Architecture read_olmo2(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  a.qk_norm = QkNorm::kFull;
  return windowed(c, std::move(m), a, true);
}

// Norms after attention and MLP, a norm of each head's queries and keys, and windows; where there
// are windows, the layers that see the whole context are not rotated (modeling_exaone4.py of
// transformers).
Architecture read_exaone4(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.qk_norm = QkNorm::kPerHead;
  return windowed(c, std::move(m), a, false);
}

// An MLP without a gate (modeling_arcee.py of transformers).
Architecture read_arcee(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  DenseMlp mlp;
  mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
  mlp.bias = c.flag_or({"mlp_bias"}, false);
  mlp.activation = read_activation(c, {"hidden_act"}, "relu2");
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = mlp;
  m.layers.append(layer, layer_count(c));
  return m;
}

// Ernie 4.5: dense, or with experts from layer moe_layer_start_index on, chosen by score plus
// correction (modeling_ernie4_5_moe.py of transformers).
Architecture read_ernie(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  SoftmaxAttention a = read_attention(c, m.hidden);
  c.require_flag({"use_bias"}, false, false);
  if (!c.has({"moe_num_experts"})) {
    LayerSpec layer;
    layer.mixer = a;
    layer.mlp = read_gated_mlp(c, "silu");
    m.layers.append(layer, layer_count(c));
    return m;
  }
  if (c.size_or({"moe_layer_interval"}, 1, limit::kLayers) != 1) {
    c.fail({"moe_layer_interval"}, "only experts in every layer are supported");
  }
  MoeMlp moe = make_moe(c, {"moe_num_experts"}, {"moe_k"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"}, "silu");
  moe.norm_topk = true;
  moe.router_bias = true;
  moe.router_fp32 = true;
  moe.shared_intermediate = c.count_or({"moe_num_shared_experts"}, 0, 64) * moe.intermediate;
  const int dense = c.count_or({"moe_layer_start_index"}, 1, limit::kLayers);
  return dense_then_experts(c, std::move(m), a, dense, moe);
}

// Hunyuan V1 with experts: norms of each head's queries and keys after the rotation
// (modeling_hunyuan_v1_moe.py of transformers).
Architecture read_hunyuan_moe(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  if (c.flag_or({"use_qk_norm"}, true)) a.qk_norm = QkNorm::kPerHead;
  MoeMlp moe;
  moe.experts = c.size({"num_experts"}, limit::kExperts);
  moe.top_k = same_in_all_layers(c, {"moe_topk"}, moe.experts);
  moe.intermediate = c.has({"moe_intermediate_size"})
                         ? same_in_all_layers(c, {"moe_intermediate_size"}, limit::kIntermediate)
                         : c.size({"intermediate_size"}, limit::kIntermediate);
  moe.activation = read_activation(c, {"hidden_act"});
  moe.norm_topk = true;
  if (c.flag_or({"use_mixed_mlp_moe"}, true)) {
    moe.shared_intermediate = same_in_all_layers(c, {"num_shared_expert"}, 64) * moe.intermediate;
  }
  return dense_then_experts(c, std::move(m), a, 0, moe);
}

// Ling and Ring 2.0: norms of each head's queries and keys, experts chosen within groups by score
// plus correction (modeling_bailing_moe_v2.py of the releases).
Architecture read_bailing_moe_v2(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, c.flag_or({"use_qkv_bias"}, false), c.flag_or({"use_bias"}, false));
  if (c.flag_or({"use_qk_norm"}, true)) a.qk_norm = QkNorm::kPerHead;
  MoeMlp moe = make_moe(c, {"num_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = c.flag_or({"moe_router_enable_expert_bias"}, true);
  moe.groups = c.size_or({"n_group"}, 1, moe.experts);
  moe.top_groups = c.size_or({"topk_group"}, 1, moe.groups);
  const int shared = c.count_or({"num_shared_experts"}, 0, 64);
  moe.shared_intermediate =
      shared * c.size_or({"moe_shared_expert_intermediate_size"}, moe.intermediate, 1 << 14);
  const int dense = c.count_or({"first_k_dense_replace"}, 0, limit::kLayers);
  return dense_then_experts(c, std::move(m), a, dense, moe);
}

// dots.llm1: norms of each head's queries and keys, experts chosen by score plus correction
// (modeling_dots1.py of transformers).
Architecture read_dots1(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  a.qk_norm = QkNorm::kPerHead;
  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = true;
  set_shared_experts(c, moe);
  const int dense = c.count_or({"first_k_dense_replace"}, 0, limit::kLayers);
  return dense_then_experts(c, std::move(m), a, dense, moe);
}

// Granite 4: Mamba-2 or attention by layer_types, each followed by a shared gated MLP and, where
// there are experts, these beside it (modeling_granitemoehybrid.py of transformers).
Architecture read_granite_hybrid(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  a.rope = c.text_or({"position_embedding_type"}, "nope") == "rope";
  const int layers = layer_count(c);
  const std::vector<std::string> types =
      c.has({"layer_types"}) ? c.texts({"layer_types"})
                             : std::vector<std::string>(static_cast<std::size_t>(layers), "mamba");
  check_per_layer(c, {"layer_types"}, types.size(), layers);

  LayerSpec layer;
  const int shared = c.size({"shared_intermediate_size"}, limit::kIntermediate);
  if (c.count_or({"num_local_experts"}, 0, limit::kExperts) > 0) {
    MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok"}, {"intermediate_size"});
    moe.activation = read_activation(c, {"hidden_act"});
    moe.norm_topk = true;
    moe.shared_intermediate = shared;
    layer.mlp = moe;
  } else {
    DenseMlp mlp;
    mlp.intermediate = shared;
    mlp.gated = true;
    mlp.activation = read_activation(c, {"hidden_act"});
    layer.mlp = mlp;
  }
  for (const std::string& type : types) {
    if (type == "attention") {
      layer.mixer = a;
    } else if (type == "mamba") {
      Mamba2 mamba;
      mamba.heads = c.size({"mamba_n_heads"}, limit::kHeads);
      mamba.head_dim = c.size({"mamba_d_head"}, limit::kHeadDim);
      mamba.state = c.size({"mamba_d_state"}, limit::kHeadDim);
      mamba.groups = c.size_or({"mamba_n_groups"}, 1, mamba.heads);
      mamba.conv = c.size_or({"mamba_d_conv"}, 4, limit::kHeadDim);
      mamba.conv_bias = c.flag_or({"mamba_conv_bias"}, true);
      mamba.chunk = c.size_or({"mamba_chunk_size"}, 256, limit::kContext);
      c.require_flag({"mamba_proj_bias"}, false, false);
      if (mamba.heads % mamba.groups != 0) {
        c.fail({"mamba_n_groups"},
               fmt::format("{} groups do not divide {} heads", mamba.groups, mamba.heads));
      }
      layer.mixer = mamba;
    } else {
      c.fail({"layer_types"}, fmt::format("expected mamba or attention, got '{}'", type));
    }
    m.layers.append(layer);
  }
  return m;
}

}  // namespace orrery
