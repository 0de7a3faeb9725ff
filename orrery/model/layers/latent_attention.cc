#include "orrery/model/layers/latent_attention.h"

#include <fmt/format.h>

namespace orrery {

LayerFacts LatentAttention::facts() const {
  LayerFacts f;
  f.kind = "MLA";
  f.heads = heads, f.head_dim = qk_nope_dim + qk_rope_dim;
  f.latent = fmt::format("{} + {} rotary, shared by all heads", kv_lora_rank, qk_rope_dim);
  f.text = fmt::format("latent attention ({} heads on a latent of {} + {}", heads, kv_lora_rank,
                       qk_rope_dim);
  if (sparse_top_k > 0) f.text += fmt::format(", {} tokens picked", sparse_top_k);
  if (sparse_top_k > 0 && !indexer) f.text += " by an earlier layer";
  f.text += ")";
  return f;
}

}  // namespace orrery
