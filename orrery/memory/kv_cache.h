// The memory that a sequence keeps on a device between steps: its KV cache and recurrent state.
//
//   softmax attention   kv_heads_per_rank * (head_dim + value_dim) elements for each token, for at
//                       most `window` tokens. Key-value heads are copied if tp exceeds their
//                       number.
//   latent attention    kv_lora_rank + qk_rope_dim elements for each token, copied on every tp
//                       rank. A sparse indexer keeps head_dim more, in fp8 with one fp32 scale
//                       (vLLM: 132 bytes).
//   linear attention    nothing for a token. Each sequence keeps its state matrices in fp32, as in
//                       vLLM, because errors accumulate in them, and the inputs of the convolution
//                       in the precision of the activations.
//
// Encoders keep nothing.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// KV cache of one layer on one rank, for a sequence of `tokens` tokens in whole blocks of `block`
// tokens (1: contiguous). REQUIRES tokens >= 0, block >= 1.
Bytes layer_kv(const Mixer& mixer, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block);

// Recurrent and convolution state of one sequence in one layer on one rank.
Bytes layer_state(const Mixer& mixer, int tp, const Precision& precision);

// layer_state of all layers of a pipeline stage.
Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage);

// KV cache and state of one sequence in all layers of a pipeline stage on one rank.
Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block);

}  // namespace orrery
