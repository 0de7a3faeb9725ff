#include "orrery/scenario/setup/layer_kinds.h"

#include <set>

namespace orrery {

std::vector<std::string> layer_kinds(const Architecture& model) {
  std::set<std::string> kinds;
  for (const LayerSpec& spec : model.layers.specs()) {
    if (has_mixer(spec.mixer)) kinds.emplace(mixer_kind(spec.mixer));
    if (std::holds_alternative<MoeMlp>(spec.mlp)) kinds.insert("experts");
  }
  return {kinds.begin(), kinds.end()};
}

}  // namespace orrery
