// The ops of the token mixers, from the normalised input to the output projection, before the
// all-reduce.
#pragma once

#include "orrery/model/architecture/mixers.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// The most keys of a sequence of `context` tokens that one of cp ranks holds.
inline double keys_of_rank(double context, int cp) { return (context + cp - 1) / cp; }

void add_mixer(OpList& ops, const RankStep& step, const Mixer& mixer);
// The ops of a mixer that depend on the groups of sequences (OpSource::kGroups).
void add_mixer_of_groups(OpList& ops, const RankStep& step, const Mixer& mixer);

// softmax_attention_ops.cc, latent_attention_ops.cc, linear_attention_ops.cc,
// sparse_attention_ops.cc.
void add_softmax_attention(OpList& ops, const RankStep& step, const SoftmaxAttention& attention);
// Its calls of attention alone, the ops that depend on the groups of sequences.
void add_attention_calls(OpList& ops, const RankStep& step, const SoftmaxAttention& attention);
void add_latent_attention(OpList& ops, const RankStep& step, const LatentAttention& attention);
void add_compressed_attention(OpList& ops, const RankStep& step, const CompressedAttention& a);
// Softmax attention that chooses blocks of keys. REQUIRES attention.blocks.
void add_block_attention(OpList& ops, const RankStep& step, const SoftmaxAttention& attention);
void add_gated_delta_net(OpList& ops, const RankStep& step, const GatedDeltaNet& g);
void add_kimi_delta(OpList& ops, const RankStep& step, const KimiDelta& k);
void add_mamba2(OpList& ops, const RankStep& step, const Mamba2& m);

}  // namespace orrery
