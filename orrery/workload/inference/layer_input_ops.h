// The ops that make the input of mixers and MLPs where the residual is not plain or the layer has
// an input of its own.
//
// Attention residuals (Kimi-K3; Attention Residuals, arXiv:2603.15031): mixer and MLP each read a
// softmax-weighted sum of the embedding, the sums of the finished blocks of layers and the sum of
// the block so far. One kernel adds the last output to the sum of the block, scores every source,
// and writes the new sum and the normed mixture (kimi_k3/nvidia/ops/attn_res.py of vLLM). It reads
// one row for each source and one for the last output, and writes two.
//
// Per-layer inputs (Gemma 3n, Gemma 4; gemma4.py of vLLM): before the first layer, every token's
// row of a second table, of per_layer_input elements for each layer, is summed over the
// tensor-parallel ranks, which share the table's rows. The embedding is projected to the same width
// by a product that tp divides and an all-gather makes whole, normed and added. At its end a layer
// gates its part by a product of the hidden state, projects it back, norms and adds it. The two
// products of a layer are whole on every rank.
#pragma once

#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// Adds the kernel before one half (mixer or MLP) of the layer. REQUIRES layer.residual_sources > 0.
void add_attention_residuals(OpList& ops, const RankStep& step, const LayerSpec& layer, Part part);

// Adds the ops of per-layer inputs before the first layer; none if the model has no such inputs.
void add_per_layer_tables(OpList& ops, const RankStep& step);

// Adds the ops at the end of a layer with an input of its own; none for other layers.
void add_per_layer_input(OpList& ops, const RankStep& step, const LayerSpec& layer);

// Rows of the residual that a pipeline stage whose last layer is `last` sends for each token, in
// multiples of the hidden size: the stream, all sources of attention residuals, and per-layer
// inputs.
double sent_rows(const Architecture& model, const LayerSpec& last);

}  // namespace orrery
