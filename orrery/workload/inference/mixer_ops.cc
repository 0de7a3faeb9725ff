#include "orrery/workload/inference/mixer_ops.h"

#include "orrery/base/error.h"

namespace orrery {

void add_mixer_of_groups(OpList& ops, const RankStep& step, const Mixer& mixer) {
  const auto* a = std::get_if<SoftmaxAttention>(&mixer);
  a && !a->blocks ? add_attention_calls(ops, step, *a) : add_mixer(ops, step, mixer);
}

void add_mixer(OpList& ops, const RankStep& step, const Mixer& mixer) {
  const auto* a = std::get_if<SoftmaxAttention>(&mixer);
  if (a && !a->blocks) return add_softmax_attention(ops, step, *a);
  ops.depend_on(OpSource::kGroups);
  if (a) {
    add_block_attention(ops, step, *a);
  } else if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
    add_latent_attention(ops, step, *l);
  } else if (const auto* c = std::get_if<CompressedAttention>(&mixer)) {
    add_compressed_attention(ops, step, *c);
  } else if (const auto* g = std::get_if<GatedDeltaNet>(&mixer)) {
    add_gated_delta_net(ops, step, *g);
  } else if (const auto* k = std::get_if<KimiDelta>(&mixer)) {
    add_kimi_delta(ops, step, *k);
  } else if (const auto* m = std::get_if<Mamba2>(&mixer)) {
    add_mamba2(ops, step, *m);
  } else if (!std::holds_alternative<NoMixer>(mixer)) {
    throw NoData(step.model.id + ": steps with this attention are not modelled yet");
  }
  ops.depend_on(OpSource::kTokens);
}

}  // namespace orrery
