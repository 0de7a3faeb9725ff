// Hyper-connections: the residual as several streams (LayerSpec::residual_streams), every rank with
// all of them. Sources: arXiv:2512.24880; DeepseekV4HyperConnection and DeepseekV4HyperHead in
// modeling_deepseek_v4.py of transformers.
//
// With s streams of `hidden` elements, each half of a layer has, besides its norm,
//   stream_weights    a product of the s*hidden elements of a token with (2+s)*s columns: how the
//                     half reads the streams, adds to them and mixes them. Weights are 32 bits and
//                     engines multiply in TF32; the op is that of 16-bit operands, whose bytes the
//                     streams have and which bound it (24 columns of 4 streams).
//   stream_collapse   the sum of the streams that the half reads: s*hidden read, hidden written
//   stream_expand     the streams mixed, and the output of the half added to each: (s+1)*hidden
//                     read, s*hidden written
// The normalisation of the mixing matrix (20 rounds on s*s values of a token) is not counted.
//
// Before the first layer the embedding is copied to the streams (stream_copy). After the last one a
// product with s columns weighs them (stream_weights), and their sum is normed.
#pragma once

#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// The ops above of `halves` halves in `count` equal layers, and their `norms` norms.
void add_stream_layers(OpList& ops, const RankStep& step, const LayerSpec& layer, int count,
                       int halves);

// stream_copy before the first layer. Nothing with one stream.
void add_stream_start(OpList& ops, const RankStep& step);
// stream_weights and stream_collapse after the last layer. Nothing with one stream.
void add_stream_end(OpList& ops, const RankStep& step);

// Streams between the layers of the model; 1 for a plain residual.
int residual_streams(const Architecture& model);

}  // namespace orrery
