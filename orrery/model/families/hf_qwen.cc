// Qwen 1 to 3.5.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// A window applies from layer max_window_layers on, if use_sliding_window (no release sets it).
int window_of_layer(const HfConfig& c, int layer) {
  if (!c.flag_or({"use_sliding_window"}, false)) return 0;
  const int from = c.count_or({"max_window_layers"}, 0, limit::kLayers);
  return layer >= from ? c.count_or({"sliding_window"}, 0, limit::kContext) : 0;
}

// Layers with experts: every decoder_sparse_step-th that is not in mlp_only_layers.
class MoePattern {
 public:
  explicit MoePattern(const HfConfig& c)
      : step_(c.size_or({"decoder_sparse_step"}, 1, limit::kLayers)) {
    if (c.has({"mlp_only_layers"})) dense_ = c.counts({"mlp_only_layers"}, limit::kLayers);
  }
  bool is_moe(int layer) const {
    return (layer + 1) % step_ == 0 &&
           std::find(dense_.begin(), dense_.end(), layer) == dense_.end();
  }

 private:
  int step_;
  std::vector<int> dense_;
};

Architecture stack(const HfConfig& c, Architecture m, SoftmaxAttention a,
                   const std::optional<MoeMlp>& moe) {
  const int layers = layer_count(c);
  const MoePattern pattern(c);
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    a.window = window_of_layer(c, i);
    layer.mixer = a;
    if (moe && pattern.is_moe(i)) {
      layer.mlp = *moe;
    } else {
      layer.mlp = read_gated_mlp(c);
    }
    m.layers.append(layer);
  }
  return m;
}

SoftmaxAttention qwen2_attention(const HfConfig& c, int hidden) {
  SoftmaxAttention a = read_attention(c, hidden);
  set_bias(a, true, false);
  return a;
}

SoftmaxAttention qwen3_attention(const HfConfig& c, int hidden) {
  SoftmaxAttention a = read_attention(c, hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  a.qk_norm = QkNorm::kPerHead;
  return a;
}

MoeMlp qwen_moe(const HfConfig& c) {
  MoeMlp moe = make_moe(c, {"num_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.shared_intermediate =
      c.count_or({"shared_expert_intermediate_size"}, 0, limit::kIntermediate);
  moe.shared_gate = moe.shared_intermediate > 0;
  return moe;
}

}  // namespace

// The first Qwen: intermediate_size counts both halves of the gated MLP; biases on q, k, v only.
Architecture read_qwen(const HfConfig& c) {
  Architecture m = read_common(c);
  c.require_flag({"no_bias"}, true, true);
  SoftmaxAttention a = qwen2_attention(c, m.hidden);
  DenseMlp mlp;
  const int both = c.size({"intermediate_size"}, limit::kIntermediate);
  if (both % 2 != 0)
    c.fail({"intermediate_size"}, fmt::format("expected an even number, got {}", both));
  mlp.intermediate = both / 2;
  mlp.gated = true;
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = mlp;
  m.layers.append(layer, layer_count(c));
  return m;
}

Architecture read_qwen2(const HfConfig& c) {
  Architecture m = read_common(c);
  const SoftmaxAttention a = qwen2_attention(c, m.hidden);
  read_towers(c, m);
  return stack(c, std::move(m), a, std::nullopt);
}

Architecture read_qwen3(const HfConfig& c) {
  Architecture m = read_common(c);
  const SoftmaxAttention a = qwen3_attention(c, m.hidden);
  read_towers(c, m);
  return stack(c, std::move(m), a, std::nullopt);
}

Architecture read_qwen2_moe(const HfConfig& c) {
  Architecture m = read_common(c);
  const SoftmaxAttention a = qwen2_attention(c, m.hidden);
  return stack(c, std::move(m), a, qwen_moe(c));
}

Architecture read_qwen3_moe(const HfConfig& c) {
  Architecture m = read_common(c);
  const SoftmaxAttention a = qwen3_attention(c, m.hidden);
  read_towers(c, m);
  return stack(c, std::move(m), a, qwen_moe(c));
}

// Qwen 3-Next and 3.5: Gated DeltaNet in most layers, gated softmax attention in every
// full_attention_interval-th (absent: 4, the default of the class). Dense MLP if there are no
// experts.
Architecture read_qwen3_next(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention full = qwen3_attention(c, m.hidden);
  full.output_gate = c.flag_or({"attn_output_gate"}, true);
  GatedDeltaNet linear;
  linear.k_heads = c.size({"linear_num_key_heads"}, limit::kHeads);
  linear.k_dim = c.size({"linear_key_head_dim"}, limit::kHeadDim);
  linear.v_heads = c.size({"linear_num_value_heads"}, limit::kHeads);
  linear.v_dim = c.size({"linear_value_head_dim"}, limit::kHeadDim);
  linear.conv = c.size({"linear_conv_kernel_dim"}, limit::kHeadDim);
  if (linear.v_heads % linear.k_heads != 0) {
    c.fail({"linear_num_key_heads"}, fmt::format("{} key heads do not divide the {} value heads",
                                                 linear.k_heads, linear.v_heads));
  }

  const int layers = layer_count(c);
  const std::vector<bool> linear_types = read_layer_types(c, layers, "linear_attention");
  const int interval = c.size_or({"full_attention_interval"}, 4, limit::kLayers);
  const bool experts =
      c.has({"num_experts"}) && c.count_or({"num_experts"}, 0, limit::kExperts) > 0;
  const MoePattern pattern(c);
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    const bool is_linear = linear_types.empty() ? (i + 1) % interval != 0 : linear_types[index(i)];
    if (is_linear) {
      layer.mixer = linear;
    } else {
      layer.mixer = full;
    }
    if (experts && pattern.is_moe(i)) {
      layer.mlp = qwen_moe(c);
    } else {
      layer.mlp = read_gated_mlp(c);
    }
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"mtp_num_hidden_layers"}, 0, limit::kLayers);
  if (mtp > 0) {
    LayerSpec extra = layer;
    extra.mixer = full;
    m.mtp = Mtp{mtp, extra};
  }
  read_towers(c, m);
  return m;
}

}  // namespace orrery
