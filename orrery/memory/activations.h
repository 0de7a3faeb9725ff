// The most memory that the buffers of one step hold at once on a rank.
//
// The larger of two moments, T tokens in the step and S sequences sampled, e bytes an element of
// the activations, h hidden:
//   inside a layer   T * e * (2 h + w)    the residual stream and the mixer's or MLP's input beside
//       attention    w = q + k + v and the heads' output, each of one rank
//       MLP          w = (1 or 2) + 1 times its width on one rank
//       MoE          w = top_k * (max(2 * width, h) + width), for the tokens of all dp groups
//   at the LM head   T * e * h + S * vocab * (e + 4)    logits, and their copy in fp32 for sampling
// Against a vLLM 0.19 engine (RTX 4090, Llama-3.1-8B, 2048 tokens, 256 sequences) this gives 0.21
// GB of the 1.24 GB that activations, graphs and context take together; the rest is the engine
// profile's.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Of one dp group's step on pipeline stage `stage`. REQUIRES tokens >= 0, sampled >= 0.
Bytes activation_peak(const Architecture& model, const ParallelPlan& plan,
                      const Precision& precision, int stage, std::int64_t tokens,
                      std::int64_t sampled);

}  // namespace orrery
