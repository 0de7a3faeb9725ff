#include "orrery/scenario/setup/layer_kinds.h"

#include <set>
#include <variant>

namespace orrery {

std::vector<std::string> layer_kinds(const Architecture& model) {
  std::set<std::string> kinds;
  for (const LayerSpec& spec : model.layers.specs()) {
    const Mixer& m = spec.mixer;
    if (std::holds_alternative<SoftmaxAttention>(m)) kinds.insert("softmax");
    if (std::holds_alternative<LatentAttention>(m) ||
        std::holds_alternative<CompressedAttention>(m))
      kinds.insert("latent");
    if (std::holds_alternative<GatedDeltaNet>(m) || std::holds_alternative<KimiDelta>(m) ||
        std::holds_alternative<Mamba2>(m))
      kinds.insert("linear");
    if (std::holds_alternative<MoeMlp>(spec.mlp)) kinds.insert("experts");
  }
  return {kinds.begin(), kinds.end()};
}

}  // namespace orrery
