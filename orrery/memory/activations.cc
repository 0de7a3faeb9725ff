#include "orrery/memory/activations.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kSamplingBytes = 4;  // logits in fp32

// Elements for each token in the buffers of the mixer on one rank.
struct MixerWidth {
  int tp;
  double operator()(const NoMixer&) const { return 0; }
  double operator()(const SoftmaxAttention& a) const {
    const double heads = static_cast<double>(a.heads) / tp;
    const double kv = static_cast<double>(kv_heads_per_rank(a.kv_heads, tp));
    return heads * (a.head_dim + a.value_dim * (a.output_gate ? 2 : 1)) +
           (a.shares_kv ? 0 : kv * (a.head_dim + a.value_dim));
  }
  double operator()(const LatentAttention& a) const {
    const double heads = static_cast<double>(a.heads) / tp;
    return a.q_lora_rank + a.kv_lora_rank + a.qk_rope_dim +
           heads * (2 * (a.qk_nope_dim + a.qk_rope_dim) + (a.output_gate ? 3 : 2) * a.value_dim);
  }
  double operator()(const CompressedAttention& a) const {
    const double q = static_cast<double>(a.heads) * a.head_dim / tp;
    return a.q_lora_rank + 2 * q + (a.overlapping ? 5.0 : 3.0) * a.head_dim +
           static_cast<double>(a.o_groups) / tp * a.o_lora_rank;
  }
  double operator()(const KimiDelta& a) const { return 6.0 * a.heads * a.head_dim / tp; }
  double operator()(const GatedDeltaNet& a) const {
    return (2.0 * a.k_heads * a.k_dim + 3.0 * a.v_heads * a.v_dim) / tp;
  }
  double operator()(const Mamba2& a) const {
    return 3.0 * a.heads * a.head_dim / tp + 2.0 * kv_heads_per_rank(a.groups, tp) * a.state;
  }
};

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
    widest = std::max({widest, std::visit(MixerWidth{plan.tp}, layer.mixer),
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
