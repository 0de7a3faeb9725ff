// The memory that a sequence keeps on a device between steps: its KV cache and recurrent state.
//
// A layer declares the elements (model/layers/kept_state.h) and how ranks divide them. Key-value
// heads are copied if tp exceeds their number; latents, entries and index keys are copied on every
// tp rank. The cache has the format of Precision::kv_cache, except:
//
//   compressed entries  in 8 bits with scales, and a part in 16 bits (compressed_entry_bytes)
//   index keys          in 8 bits with scales (index_key_bytes; vLLM: 132 bytes for 128 elements);
//                       those of block-sparse attention in the format of the activations
//   recurrent state     fp32, as in vLLM, because errors accumulate in it; the inputs of the
//                       convolution in the format of the activations
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
Bytes layer_kv(const KeptState& kept, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block);

// The memory that one sequence takes in one layer on one rank whatever its length: recurrent and
// convolution state, or the window and the compressors' state of compressed attention.
Bytes layer_state(const KeptState& kept, int tp, const Precision& precision);

// layer_state of all layers of a pipeline stage.
Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage);

// KV cache and state of one sequence in all layers of a pipeline stage on one rank.
Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block);

}  // namespace orrery
