// The memory that a sequence keeps on a device between steps: its KV cache and recurrent state.
//
//   softmax attention   kv_heads_per_rank * (head_dim + value_dim) elements for each token, for at
//                       most `window` tokens. Key-value heads are copied if tp exceeds their
//                       number.
//   latent attention    kv_lora_rank + qk_rope_dim elements for each token, copied on every tp
//                       rank. A sparse indexer keeps head_dim more, in fp8 with one fp32 scale
//                       (vLLM: 132 bytes).
//   compressed          an entry for `compress` tokens, and its index key (op.h:
//   attention           compressed_entry_bytes, index_key_bytes), copied on every tp rank. Each
//                       sequence keeps the last `window` tokens, and in fp32 what the compressors
//                       hold of tokens without a complete entry: kv and gate of `compress` tokens,
//                       of twice as many and twice as wide with overlapping windows
//                       (get_compress_state_ring_size, deepseek_v4_memory_pool.py of SGLang).
//   block-sparse        as softmax attention, and an index key for each token in the precision of
//   attention           the activations, copied on every tp rank.
//   linear attention    nothing for a token. Each sequence keeps its state matrices in fp32, as in
//                       vLLM, because errors accumulate in them, and the inputs of the convolution
//                       in the precision of the activations.
//
// With decode context parallelism a rank holds every cp-th token of its head (ParallelPlan::cp): a
// cp-th of these bytes. Blocks are taken to be divided evenly; engines round a sequence up to cp
// blocks, which is a little more.
//
// Encoders keep nothing.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// KV cache of one layer on one rank, for a sequence of `tokens` tokens in whole blocks of `block`
// tokens (1: contiguous). REQUIRES tokens >= 0, block >= 1.
Bytes layer_kv(const Mixer& mixer, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block);

// The memory that one sequence takes in one layer on one rank whatever its length: recurrent and
// convolution state, or the window and the compressors' state of compressed attention.
Bytes layer_state(const Mixer& mixer, int tp, const Precision& precision);

// layer_state of all layers of a pipeline stage.
Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage);

// KV cache and state of one sequence in all layers of a pipeline stage on one rank.
Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block);

}  // namespace orrery
