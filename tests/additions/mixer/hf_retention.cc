// RetNet: retention in every layer, gated MLPs.
#include "orrery/model/families/hf_families.h"

namespace orrery {

Architecture read_retention(const HfConfig& c) {
  Architecture m = read_common(c);
  Retention a;
  a.heads = c.size({"num_attention_heads"}, limit::kHeads);
  a.key_dim = c.size({"head_dim"}, limit::kHeadDim);
  a.value_dim = c.size({"v_head_dim"}, limit::kHeadDim);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  m.layers.append(layer, layer_count(c));
  return m;
}

}  // namespace orrery
