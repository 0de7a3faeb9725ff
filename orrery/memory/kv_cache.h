// What sequences keep on a device between steps.
//
//   softmax attention   kv_heads_per_rank * (head_dim + value_dim) elements a token, at most
//   `window` tokens;
//                       key-value heads are copied on the ranks when tp exceeds their number
//   latent attention    kv_lora_rank + qk_rope_dim elements a token, copied on every tp rank; a
//   sparse
//                       indexer keeps head_dim more, in fp8 with one fp32 scale (vLLM: 132 bytes)
//   linear attention    nothing a token; per sequence its matrices in fp32 (vLLM keeps recurrent
//   states so,
//                       as they accumulate) and the convolution's inputs at the activations'
//                       precision
// Encoders keep nothing.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Of one layer and one rank, for a sequence of `tokens` tokens that is stored in whole blocks of
// `block` tokens (1: contiguous). REQUIRES tokens >= 0, block >= 1.
Bytes layer_kv(const Mixer& mixer, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block);

// Recurrent and convolution state of one layer, rank and sequence.
Bytes layer_state(const Mixer& mixer, int tp, const Precision& precision);

// The same of all layers of a stage.
Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage);

// All layers of a stage on one rank, for one sequence: states too.
Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block);

}  // namespace orrery
