// The largest memory that the buffers of one inference step need at once on a rank.
//
// It is the larger of two moments. T is the number of tokens of the step, S the number of sequences
// sampled, e the bytes of an element of the activations, h the hidden size:
//
//   inside a layer   T * e * ((s + 1) h + w): the s residual streams (one without
//                    hyper-connections), the input of the mixer or MLP, and buffers of width w on
//                    one rank
//       mixer        w = its buffers (model/layers/mixers.h); of softmax attention the width of q,
//                    k and v + the width of the heads' output
//       MLP          w = (1 or 2) + 1 times the inner width; 2 for a gated MLP
//       MoE          w = top_k * (max(2 * width, h) + width) * max(1, dp / ep): the experts of a
//                    rank get 1 / ep of the tokens of all dp groups, and the buffers hold no fewer
//                    rows than those of its own tokens; for experts of a latent its width in the
//                    place of h
//   attention residuals keep the sums of all blocks, T * e * h each, and per-layer inputs those of
//   all layers
//   at the LM head   T * e * h + S * vocab * (e + 4): logits, and their fp32 copy for sampling
//
// For a vLLM 0.19 engine (RTX 4090, Llama-3.1-8B, 2048 tokens, 256 sequences) this gives 0.21 GB of
// the 1.24 GB that activations, graphs and context take there. The rest is in the engine's profile.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// The peak of one rank of pipeline stage `stage`. `tokens` and `sampled` are those of one dp group.
// REQUIRES tokens >= 0, sampled >= 0.
Bytes activation_peak(const Architecture& model, const ParallelPlan& plan,
                      const Precision& precision, int stage, std::int64_t tokens,
                      std::int64_t sampled);

}  // namespace orrery
