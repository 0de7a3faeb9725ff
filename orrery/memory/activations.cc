#include "orrery/memory/activations.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kSamplingBytes = 4;  // logits in fp32

struct MlpWidth {
  const ParallelPlan& plan;
  double hidden;
  double operator()(const NoMlp&) const { return 0; }
  double operator()(const DenseMlp& m) const {
    return (m.gated ? 3.0 : 2.0) * m.intermediate / plan.tp;
  }
  double operator()(const MoeMlp& m) const {
    const double width = static_cast<double>(m.intermediate) / plan.moe_tp();
    const double row = m.latent > 0 ? m.latent : hidden;
    const double groups = std::max(1.0, static_cast<double>(plan.dp) / plan.ep);
    return m.top_k * (std::max((m.gated ? 2 : 1) * width, row) + width) * groups +
           (m.gated ? 3.0 : 2.0) * m.shared_intermediate / plan.tp;
  }
};

}  // namespace

Bytes activation_peak(const Architecture& model, const ParallelPlan& plan,
                      const Precision& precision, int stage, std::int64_t tokens,
                      std::int64_t sampled) {
  const Bytes element = bytes_per_element(precision.activations);
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  const double hidden = model.hidden, t = static_cast<double>(tokens);
  double widest = 0, kept = 0;  // kept: beside the stream and the input of a mixer or MLP
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec) {
    if (model.layers.count(static_cast<int>(spec), range.first, range.last) == 0) continue;
    const LayerSpec& layer = model.layers.specs()[spec];
    widest = std::max({widest, buffer_width(layer.mixer).on_rank(plan.tp),
                       std::visit(MlpWidth{plan, hidden}, layer.mlp)});
    kept = std::max(kept, std::max(0, layer.residual_sources - 1) * hidden +
                              static_cast<double>(layer.per_layer_input) * model.layers.size());
  }
  const double streams = model.layers.at(0).residual_streams;
  const Bytes in_layer = t * ((1 + streams) * hidden + kept + widest) * element;
  if (stage != plan.pp - 1 || !model.lm_head) return in_layer;
  const Bytes at_head = t * hidden * element + static_cast<double>(sampled) * model.vocab *
                                                   (element + Bytes(kSamplingBytes));
  return std::max(in_layer, at_head);
}

}  // namespace orrery
