#include "orrery/model/layers/compressed_attention.h"

#include <fmt/format.h>

namespace orrery {

LayerFacts CompressedAttention::facts() const {
  LayerFacts f;
  f.kind = compress == 0 ? "compressed attention (window alone)"
           : top_k > 0   ? "compressed sparse attention"
                         : "heavily compressed attention";
  f.heads = heads, f.head_dim = head_dim, f.window = window;
  f.text = fmt::format("window of {}", window);
  if (compress > 0) {
    const std::string entries = fmt::format("entries of {} tokens", compress);
    f.text += top_k > 0 ? fmt::format(" and {} picked {}", top_k, entries) : " and all " + entries;
  }
  f.text += fmt::format(" (compressed attention, {} heads of {} on 1 KV)", heads, head_dim);
  return f;
}

}  // namespace orrery
