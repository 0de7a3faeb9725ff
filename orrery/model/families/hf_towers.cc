// Parameters of vision and audio towers with their projectors, from vision_config and audio_config.
// Each family lists its matrices; biases and norms are counted, tables of rotary angles are not.
#include <algorithm>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

using Count = std::int64_t;

Count linear(Count in, Count out, bool bias) { return in * out + (bias ? out : 0); }

// Qwen3-VL and Qwen 3.5 (modeling_qwen3_vl.py of transformers): patches of temporal_patch_size
// frames, learned positions, layer norms and biases, and a merger of spatial_merge_size^2 patches
// for the output and for each deepstack level.
Count qwen_vision(const HfConfig& v) {
  const Count hidden = v.size({"hidden_size"}, limit::kHidden);
  const Count inner = v.size({"intermediate_size"}, limit::kIntermediate);
  const Count out = v.size({"out_hidden_size"}, limit::kHidden);
  const Count side = v.size({"patch_size"}, 1024);
  const Count merge = v.size_or({"spatial_merge_size"}, 2, 64);
  const Count pixels = Count{v.size_or({"in_channels"}, 3, 64)} *
                       v.size_or({"temporal_patch_size"}, 2, 64) * side * side;
  const Count merged = hidden * merge * merge;
  const Count block = 4 * hidden + linear(hidden, 3 * hidden, true) + linear(hidden, hidden, true) +
                      linear(hidden, inner, true) + linear(inner, hidden, true);
  const Count merger = linear(merged, merged, true) + linear(merged, out, true);
  Count levels = 0;
  if (const Node* list = v.find({"deepstack_visual_indexes"})) {
    if (list->is_list()) levels = static_cast<Count>(list->items().size());
  }
  return linear(pixels, hidden, true) +
         Count{v.size_or({"num_position_embeddings"}, 2304, limit::kVocab)} * hidden +
         v.size({"depth"}, limit::kLayers) * block + merger + 2 * hidden +
         levels * (merger + 2 * merged);
}

// Qwen2.5-VL (modeling_qwen2_5_vl.py of transformers): rotary positions, RMS norms, gated MLPs with
// biases, and a merger of spatial_merge_size^2 patches.
Count qwen25_vision(const HfConfig& v) {
  const Count hidden = v.size({"hidden_size"}, limit::kHidden);
  const Count inner = v.size({"intermediate_size"}, limit::kIntermediate);
  const Count out = v.size({"out_hidden_size"}, limit::kHidden);
  const Count side = v.size({"patch_size"}, 1024);
  const Count merge = v.size_or({"spatial_merge_size"}, 2, 64);
  const Count pixels = Count{v.size_or({"in_channels", "in_chans"}, 3, 64)} *
                       v.size_or({"temporal_patch_size"}, 2, 64) * side * side;
  const Count merged = hidden * merge * merge;
  const Count block = 2 * hidden + linear(hidden, 3 * hidden, true) + linear(hidden, hidden, true) +
                      2 * linear(hidden, inner, true) + linear(inner, hidden, true);
  return linear(pixels, hidden, false) + v.size({"depth"}, limit::kLayers) * block + hidden +
         linear(merged, merged, true) + linear(merged, out, true);
}

// Pixtral as Mistral Small 3.1 has it (modeling_pixtral.py and modeling_mistral3.py of
// transformers): rotary positions, RMS norms, gated MLPs, no biases, and a projector that merges
// spatial_merge_size^2 patches before two matrices.
Count pixtral_vision(const HfConfig& c, const HfConfig& v, Count out) {
  const Count hidden = v.size({"hidden_size"}, limit::kHidden);
  const Count inner = v.size({"intermediate_size"}, limit::kIntermediate);
  const Count side = v.size_or({"patch_size"}, 16, 1024);
  const Count merge = c.size_or({"spatial_merge_size"}, 2, 64);
  const bool bias = c.flag_or({"multimodal_projector_bias"}, false);
  const Count block =
      2 * hidden + 4 * linear(hidden, hidden, false) + 3 * linear(hidden, inner, false);
  return linear(3 * side * side, hidden, false) + hidden +
         v.size({"num_hidden_layers"}, limit::kLayers) * block + hidden +
         linear(hidden * merge * merge, hidden, false) + linear(hidden, out, bias) +
         linear(out, out, bias);
}

// Kimi-K2.5 (layer norms and biases) and Kimi-K3 (RMS norms, no biases), modeling_kimi_k25.py of
// the release: MoonViT with learned positions of a grid, and a projector that merges patches.
Count kimi_vision(const HfConfig& v) {
  const Count hidden = v.size({"vt_hidden_size"}, limit::kHidden);
  const Count inner = v.size({"vt_intermediate_size"}, limit::kIntermediate);
  const Count width = v.size_or({"qkv_hidden_size"}, static_cast<int>(hidden), limit::kHidden);
  const Count out = v.size({"text_hidden_size"}, limit::kHidden);
  const Count side = v.size_or({"patch_size"}, 14, 1024);
  const bool rms = v.text_or({"norm_type"}, "layernorm") == "rmsnorm";
  const bool attention_bias = v.flag_or({"attn_bias"}, true);
  const bool bias = v.flag_or({"linear_bias"}, true);
  const Count norm = rms ? hidden : 2 * hidden;
  const Count merged = hidden * 4;
  const Count block = 2 * norm + linear(hidden, 3 * width, attention_bias) +
                      linear(width, hidden, attention_bias) + linear(hidden, inner, bias) +
                      linear(inner, hidden, bias);
  return linear(3 * side * side, hidden, v.flag_or({"patch_embed_proj_bias"}, true)) +
         Count{v.size_or({"init_pos_emb_height"}, 64, 4096)} *
             v.size_or({"init_pos_emb_width"}, 64, 4096) * hidden +
         v.size({"vt_num_hidden_layers"}, limit::kLayers) * block + norm + norm +
         linear(merged, merged, true) + linear(merged, out, true);
}

// Gemma 4 (modeling_gemma4.py of transformers): gated MLPs, four RMS norms a layer, a norm of
// queries and of keys, a table of positions for each axis, one projection to the text model.
Count gemma4_vision(const HfConfig& v, Count out) {
  const Count hidden = v.size({"hidden_size"}, limit::kHidden);
  const Count inner = v.size({"intermediate_size"}, limit::kIntermediate);
  const Count heads = v.size({"num_attention_heads"}, limit::kHeads);
  const Count kv_heads = v.size_or({"num_key_value_heads"}, static_cast<int>(heads), limit::kHeads);
  const Count dim = v.size({"head_dim"}, limit::kHeadDim);
  const Count side = v.size_or({"patch_size"}, 16, 1024);
  const Count block = linear(hidden, (2 * heads + 2 * kv_heads) * dim, false) + 2 * dim +
                      3 * linear(hidden, inner, false) + 4 * hidden;
  return linear(3 * side * side, hidden, false) +
         Count{2} * v.size_or({"position_embedding_size"}, 10240, limit::kVocab) * hidden +
         v.size({"num_hidden_layers"}, limit::kLayers) * block + linear(hidden, out, false);
}

// A vision transformer of an unknown family by its standard fields: SigLIP's layers
// (modeling_siglip.py of transformers), patches of one frame, one projection to the text model.
Count plain_vision(const HfConfig& v, Count out) {
  const Count hidden = v.size({"hidden_size"}, limit::kHidden);
  const Count inner = v.size({"intermediate_size"}, limit::kIntermediate);
  const Count side = v.size_or({"patch_size"}, 14, 1024);
  const Count block = 4 * hidden + 4 * linear(hidden, hidden, true) + linear(hidden, inner, true) +
                      linear(inner, hidden, true);
  return linear(3 * side * side, hidden, true) +
         v.size({"num_hidden_layers", "depth", "num_layers"}, limit::kLayers) * block +
         linear(hidden, out, true);
}

// The conformer of Gemma 4 (modeling_gemma4.py of transformers): two convolutions of 3 x 3 with
// norms over 128 mel bins, then layers of two MLPs of four times the width, attention with relative
// positions and a light convolution, and two projections to the text model.
Count gemma4_audio(const HfConfig& a, Count out) {
  constexpr Count kBins = 128, kKernel = 9;
  const Count hidden = a.size({"hidden_size"}, limit::kHidden);
  const Count heads = a.size({"num_attention_heads"}, limit::kHeads);
  const Count kernel = a.size_or({"conv_kernel_size"}, 5, 1024);
  const Count projected = a.size_or({"output_proj_dims"}, 1536, limit::kHidden);
  const std::vector<int> channels = a.has({"subsampling_conv_channels"})
                                        ? a.counts({"subsampling_conv_channels"}, 1 << 14)
                                        : std::vector<int>{128, 32};
  if (channels.size() != 2) a.fail({"subsampling_conv_channels"}, "expected two numbers");
  const Count first = channels[0], second = channels[1];
  const Count square = hidden * hidden;
  const Count layer = 2 * (8 * square + 2 * hidden) + 5 * square + hidden / heads + 3 * square +
                      kernel * hidden + 2 * hidden + 3 * hidden;
  return kKernel * (first + first * second) + first + second +
         linear(second * (kBins / 4), hidden, false) +
         a.size({"num_hidden_layers"}, limit::kLayers) * layer + linear(hidden, projected, true) +
         linear(projected, out, false);
}

Count vision(const HfConfig& c, const HfConfig& v, Count out) {
  if (v.has({"vt_hidden_size"})) return kimi_vision(v);
  if (v.has({"fullatt_block_indexes"})) return qwen25_vision(v);
  if (v.text_or({"model_type"}, "") == "pixtral") return pixtral_vision(c, v, out);
  if (v.has({"out_hidden_size"})) return qwen_vision(v);
  if (v.has({"pooling_kernel_size"})) return gemma4_vision(v, out);
  return plain_vision(v, out);
}

}  // namespace

void read_towers(const HfConfig& c, Architecture& model) {
  const Node* images = c.find({"vision_config"});
  if (images != nullptr && images->is_map()) {
    model.towers.push_back({"vision", vision(c, HfConfig(*images), model.hidden)});
  }
  const Node* sound = c.find({"audio_config"});
  if (sound != nullptr && sound->is_map() &&
      HfConfig(*sound).has({"subsampling_conv_channels", "output_proj_dims"})) {
    model.towers.push_back({"audio", gemma4_audio(HfConfig(*sound), model.hidden)});
  }
}

}  // namespace orrery
