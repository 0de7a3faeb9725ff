#include "orrery/scenario/kinds/steady/layer_labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

std::string mixer_label(const LayerSpec& layer) {
  if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer))
    return softmax->window > 0 ? fmt::format("window {}", softmax->window) : "full";
  if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer))
    return latent->indexer ? "indexed" : "latent";
  if (const auto* compressed = std::get_if<CompressedAttention>(&layer.mixer))
    return compressed->compress == 0 ? "windowed" : compressed->top_k > 0 ? "csa" : "hca";
  if (std::holds_alternative<KimiDelta>(layer.mixer)) return "kda";
  if (std::holds_alternative<GatedDeltaNet>(layer.mixer)) return "delta";
  if (std::holds_alternative<Mamba2>(layer.mixer)) return "mamba";
  return "";
}

std::string mlp_label(const LayerSpec& layer) {
  if (std::holds_alternative<MoeMlp>(layer.mlp)) return "moe";
  return std::holds_alternative<DenseMlp>(layer.mlp) ? "dense" : "";
}

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
    mixers.push_back(mixer_label(layer));
    mlps.push_back(mlp_label(layer));
  }
  mixers = if_different(std::move(mixers)), mlps = if_different(std::move(mlps));
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    const bool both = !mixers[i].empty() && !mlps[i].empty();
    mixers[i] += (both ? ", " : "") + mlps[i];
  }
  return mixers;
}

}  // namespace orrery
