#include "orrery/scenario/kinds/steady/layer_labels.h"

#include <algorithm>

namespace orrery {
namespace {

// The labels, or none where all are the same.
std::vector<std::string> if_different(std::vector<std::string> labels) {
  const bool same = std::all_of(labels.begin(), labels.end(),
                                [&](const std::string& l) { return l == labels.front(); });
  if (same) std::fill(labels.begin(), labels.end(), "");
  return labels;
}

}  // namespace

std::vector<std::string> layer_labels(const LayerStack& layers) {
  std::vector<std::string> mixers, mlps;
  for (const LayerSpec& layer : layers.specs()) {
    mixers.push_back(mixer_label(layer.mixer));
    mlps.push_back(mlp_label(layer.mlp));
  }
  mixers = if_different(std::move(mixers)), mlps = if_different(std::move(mlps));
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    const bool both = !mixers[i].empty() && !mlps[i].empty();
    mixers[i] += (both ? ", " : "") + mlps[i];
  }
  return mixers;
}

}  // namespace orrery
