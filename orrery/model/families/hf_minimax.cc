// MiniMax M2 (softmax attention) and M3 (block-sparse attention).
#include <fmt/format.h>

#include <algorithm>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// True for the layers whose entry of a list of zeros and ones is 1; all layers if it is absent.
std::vector<bool> marked_layers(const HfConfig& c, Key key, int layers) {
  if (!c.has(key)) return std::vector<bool>(static_cast<std::size_t>(layers), true);
  const std::vector<int> marks = c.counts(key, 1);
  check_per_layer(c, key, marks.size(), layers);
  return {marks.begin(), marks.end()};
}

// Both spellings: sparse_* inside of sparse_attention_config (the release) and index_* (vLLM's
// config class).
BlockSelection block_selection(const HfConfig& sparse) {
  BlockSelection b;
  b.block = sparse.size({"sparse_block_size", "index_block_size"}, limit::kContext);
  b.top_blocks = sparse.size({"sparse_topk_blocks", "index_topk_blocks"}, limit::kContext);
  b.index_heads = sparse.size({"sparse_num_index_heads", "index_n_heads"}, limit::kHeads);
  b.index_dim = sparse.size({"sparse_index_dim", "index_head_dim"}, limit::kHeadDim);
  return b;
}

}  // namespace

// vLLM and SGLang keep the router's weights in fp32 and multiply in it (minimax_m2.py of both:
// params_dtype=torch.float32, gate(hidden_states.to(torch.float32))).
//
// Softmax attention in every layer (attn_type_list all 1; the lightning attention of MiniMax-01 is
// not modelled). The MTP modules that the config mentions are not in the checkpoint and are left
// out.
Architecture read_minimax_m2(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  if (c.flag_or({"use_qk_norm"}, true)) a.qk_norm = QkNorm::kFull;
  MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok"}, {"intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = c.flag_or({"use_routing_bias"}, true);
  moe.router_fp32 = true;
  moe.norm_topk = true;
  moe.shared_intermediate = c.count_or({"shared_intermediate_size"}, 0, limit::kIntermediate);
  const int layers = layer_count(c);
  if (c.has({"attn_type_list"})) {
    const std::vector<int> types = c.counts({"attn_type_list"}, 1);
    check_per_layer(c, {"attn_type_list"}, types.size(), layers);
    if (std::find(types.begin(), types.end(), 0) != types.end()) {
      c.fail({"attn_type_list"}, "lightning attention (0) is not supported");
    }
  }
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = moe;
  m.layers.append(layer, layers);
  return m;
}

// Block-sparse attention in the layers that sparse_attention_freq marks, experts in those that
// moe_layer_freq marks, a dense MLP of dense_intermediate_size in the others. Source: minimax_m3.py
// of SGLang.
Architecture read_minimax_m3(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.output_gate = c.flag_or({"attention_output_gate"}, false);
  if (c.flag_or({"use_qk_norm"}, true)) {
    a.qk_norm =
        c.text_or({"qk_norm_type"}, "per_head") == "per_head" ? QkNorm::kPerHead : QkNorm::kFull;
  }
  const int layers = layer_count(c);
  const Node* node = c.find({"sparse_attention_config"});
  if (node != nullptr && !node->is_map()) c.fail({"sparse_attention_config"}, "expected a map");
  std::vector<bool> sparse(static_cast<std::size_t>(layers), false);
  std::optional<BlockSelection> blocks;
  if (node != nullptr && HfConfig(*node).flag_or({"use_sparse_attention"}, true)) {
    const HfConfig config(*node);
    blocks = block_selection(config);
    sparse = marked_layers(config, {"sparse_attention_freq"}, layers);
  }

  MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok"},
                        {"moe_intermediate_size", "intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = c.flag_or({"use_routing_bias"}, true);
  moe.router_fp32 = true;
  moe.norm_topk = true;
  moe.shared_intermediate = c.count_or({"n_shared_experts"}, 0, 64) *
                            c.count_or({"shared_intermediate_size"}, moe.intermediate, 1 << 14);
  const std::vector<bool> experts = marked_layers(c, {"moe_layer_freq"}, layers);

  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    a.blocks = sparse[at] ? blocks : std::nullopt;
    layer.mixer = a;
    if (experts[at]) {
      layer.mlp = moe;
    } else {
      DenseMlp dense;
      dense.intermediate = c.size({"dense_intermediate_size"}, limit::kIntermediate);
      dense.gated = true;
      dense.activation = moe.activation;
      layer.mlp = dense;
    }
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers", "num_mtp_modules"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
  read_towers(c, m);
  return m;
}

}  // namespace orrery
