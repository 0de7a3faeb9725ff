// Xiaomi's MiMo (7B; V2 and V2.5 with windows and experts) and StepFun's Step 3.5 and 3.7.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// True for the layers that a list of layer numbers names: [3, 4] or "3,4".
std::vector<bool> named_layers(const HfConfig& c, Key key, int layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  std::vector<int> numbers;
  const Node* node = c.find(key);
  if (node != nullptr && node->is_list()) {
    numbers = c.counts(key, limit::kLayers);
  } else {
    const std::string text = c.text_or(key, "");
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
      int number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc() || (next < end && *next != ',')) {
        c.fail(key, "expected layer numbers with commas between them");
      }
      numbers.push_back(number);
      at = next;
    }
  }
  for (const int n : numbers) {
    if (n < 0) c.fail(key, fmt::format("layer {} is negative", n));
    if (n < layers) out[index(n)] = true;
  }
  return out;
}

// Full attention and windows of MiMo V2 have heads of their own.
SoftmaxAttention mimo_attention(const HfConfig& c, int hidden, bool window) {
  SoftmaxAttention a = read_attention(c, hidden);
  a.value_dim = c.size_or({"v_head_dim"}, a.head_dim, limit::kHeadDim);
  a.sinks = c.flag_or({"add_full_attention_sink_bias"}, false);
  if (window) {
    const int heads = c.size_or({"swa_num_attention_heads"}, a.heads, limit::kHeads);
    const int kv_heads = c.size_or({"swa_num_key_value_heads"}, a.kv_heads, limit::kHeads);
    const int value_dim = a.value_dim;
    a = make_attention(c, heads, kv_heads,
                       c.size_or({"swa_head_dim"}, a.head_dim, limit::kHeadDim));
    a.value_dim = c.size_or({"swa_v_head_dim"}, value_dim, limit::kHeadDim);
    a.sinks = c.flag_or({"add_swa_attention_sink_bias"}, false);
    a.window = c.size({"sliding_window_size", "sliding_window"}, limit::kContext);
  }
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, false);
  return a;
}

// Attention of the windows of Step 3.5: attention_other_setting, else num_sliding_attention_heads,
// else the same heads as the others.
SoftmaxAttention step_attention(const HfConfig& c, int hidden, bool window) {
  const int heads = c.size({"num_attention_heads"}, limit::kHeads);
  const int kv_heads =
      c.size_or({"num_attention_groups", "num_key_value_heads"}, heads, limit::kHeads);
  const int head_dim = c.has({"head_dim"}) ? c.size({"head_dim"}, limit::kHeadDim)
                                           : divided_head_dim(c, hidden, heads);
  SoftmaxAttention a = make_attention(c, heads, kv_heads, head_dim);
  if (window) {
    const Node* other = c.find({"attention_other_setting"});
    if (other != nullptr && other->is_map()) {
      const HfConfig o(*other);
      a = make_attention(c, o.size({"num_attention_heads"}, limit::kHeads),
                         o.size({"num_attention_groups"}, limit::kHeads),
                         o.size_or({"head_dim"}, head_dim, limit::kHeadDim));
    } else {
      a = make_attention(c, c.size_or({"num_sliding_attention_heads"}, heads, limit::kHeads),
                         kv_heads, head_dim);
    }
    a.window = c.size({"sliding_window"}, limit::kContext);
  }
  a.qk_norm = QkNorm::kPerHead;
  a.head_gate = c.flag_or({"use_head_wise_attn_gate"}, false);
  return a;
}

// The layers of Step 3.5 with experts: mlp_layer_types, moe_layers_enum, else all from
// first_k_dense_replace on (absent: 3, as released).
std::vector<bool> step_moe_layers(const HfConfig& c, int layers) {
  if (c.has({"mlp_layer_types"})) {
    const std::vector<std::string> types = c.texts({"mlp_layer_types"});
    check_per_layer(c, {"mlp_layer_types"}, types.size(), layers);
    std::vector<bool> out;
    for (const std::string& type : types) out.push_back(type != "dense");
    return out;
  }
  if (c.has({"moe_layers_enum"})) return named_layers(c, {"moe_layers_enum"}, layers);
  std::vector<bool> out(static_cast<std::size_t>(layers), true);
  const int dense = std::min(layers, c.count_or({"first_k_dense_replace"}, 3, limit::kLayers));
  std::fill_n(out.begin(), dense, false);
  return out;
}

}  // namespace

// MiMo-7B: Qwen 2 with one MTP module. Biases on q, k and v (absent: as Qwen 2).
Architecture read_mimo(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, c.flag_or({"attention_bias"}, true), false);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  m.layers.append(layer, layer_count(c));
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
  return m;
}

// hybrid_layer_pattern marks the layers with a window, moe_layer_freq those with experts. Source:
// mimo_v2_flash.py of vLLM, whose MTP modules have a window and a dense MLP.
Architecture read_mimo_v2(const HfConfig& c) {
  Architecture m = read_common(c);
  const int layers = layer_count(c);
  std::vector<bool> windows;
  if (c.has({"hybrid_layer_pattern"})) {
    const std::vector<int> marks = c.counts({"hybrid_layer_pattern"}, 1);
    check_per_layer(c, {"hybrid_layer_pattern"}, marks.size(), layers);
    windows.assign(marks.begin(), marks.end());
  } else {
    windows = read_layer_types(c, layers, "sliding_attention");
    if (windows.empty()) c.fail({"hybrid_layer_pattern"}, "missing; expected a list of 0 and 1");
  }
  const std::vector<int> experts = c.counts({"moe_layer_freq"}, 1);
  check_per_layer(c, {"moe_layer_freq"}, experts.size(), layers);
  const SoftmaxAttention full = mimo_attention(c, m.hidden, false);
  const SoftmaxAttention window = mimo_attention(c, m.hidden, true);
  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = c.text_or({"topk_method"}, "") == "noaux_tc";
  set_shared_experts(c, moe);
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    layer.mixer = windows[at] ? window : full;
    if (experts[at] != 0) {
      layer.mlp = moe;
    } else {
      layer.mlp = read_gated_mlp(c);
    }
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers", "num_mtp_layers"}, 0, limit::kLayers);
  if (mtp > 0) {
    layer.mixer = window;
    layer.mlp = read_gated_mlp(c);
    m.mtp = Mtp{mtp, layer};
  }
  return m;
}

// Source: step3p5.py of vLLM. A shared expert of share_expert_dim in every layer with experts.
Architecture read_step3(const HfConfig& c) {
  Architecture m = read_common(c);
  const int layers = layer_count(c);
  std::vector<bool> windows(static_cast<std::size_t>(layers), false);
  if (c.has({"layer_types"})) {
    // The release has entries for its MTP modules, too.
    std::vector<std::string> types = c.texts({"layer_types"});
    if (types.size() > windows.size()) types.resize(windows.size());
    check_per_layer(c, {"layer_types"}, types.size(), layers);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (types[i] != "sliding_attention" && types[i] != "full_attention") {
        c.fail({"layer_types"},
               fmt::format("expected sliding_attention or full_attention, got '{}'", types[i]));
      }
      windows[i] = types[i] == "sliding_attention";
    }
  }
  const std::vector<bool> experts = step_moe_layers(c, layers);
  const SoftmaxAttention full = step_attention(c, m.hidden, false);
  const SoftmaxAttention window = step_attention(c, m.hidden, true);
  MoeMlp moe = make_moe(c, {"moe_num_experts", "n_routed_experts", "num_experts"},
                        {"moe_top_k", "num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"}, "silu");
  moe.router_bias = c.flag_or({"use_moe_router_bias"}, false);
  moe.router_fp32 = c.flag_or({"need_fp32_gate"}, false);
  moe.norm_topk = c.flag_or({"norm_expert_weight", "norm_topk_prob"}, true);
  moe.shared_intermediate = c.count_or({"share_expert_dim"}, 0, limit::kIntermediate);
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    layer.mixer = windows[at] ? window : full;
    if (experts[at]) {
      layer.mlp = moe;
    } else {
      layer.mlp = read_gated_mlp(c, "silu");
    }
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) {
    layer.mixer = window;
    layer.mlp = read_gated_mlp(c, "silu");
    m.mtp = Mtp{mtp, layer};
  }
  read_towers(c, m);
  return m;
}

}  // namespace orrery
