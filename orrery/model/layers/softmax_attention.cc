#include "orrery/model/layers/softmax_attention.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

KeptState SoftmaxAttention::kept() const {
  KeptState k;
  k.entry = keys() + values();
  if (blocks) k.index_key = whole(blocks->index_dim);
  k.cached_elsewhere = shares_kv;
  k.window = window;
  k.chunked = window_kind == WindowKind::kChunked;
  k.chosen = blocks.has_value();
  return k;
}

DecodeWidths SoftmaxAttention::decode() const {
  return {1.0 * heads * (head_dim + value_dim), head_dim, heads / std::max(1, kv_heads)};
}

std::string SoftmaxAttention::label() const {
  return window > 0 ? fmt::format("window {}", window) : "full";
}

LayerFacts SoftmaxAttention::facts() const {
  LayerFacts f;
  f.kind = kv_heads == heads ? "MHA" : kv_heads == 1 ? "MQA" : "GQA";
  f.heads = heads, f.kv_heads = kv_heads, f.head_dim = head_dim, f.window = window;
  f.text = window == 0                           ? "full attention"
           : window_kind == WindowKind::kSliding ? fmt::format("window of {}", window)
                                                 : fmt::format("chunks of {}", window);
  f.text += fmt::format(" ({}, {} heads of {}", kv_heads == heads ? "MHA" : "GQA", heads, head_dim);
  if (kv_heads != heads) f.text += fmt::format(" on {} KV", kv_heads);
  if (shares_kv) f.text += " of an earlier layer";
  if (blocks) f.text += fmt::format(", {} blocks of {} picked", blocks->top_blocks, blocks->block);
  f.text += rope ? ")" : ", without rotation)";
  return f;
}

}  // namespace orrery
