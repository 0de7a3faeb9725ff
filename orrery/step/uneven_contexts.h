// Decode attention over contexts that differ, where FlashAttention 2 runs.
//
// Its grid is sequences x KV heads x splits: a thread block reads its part of one sequence's keys,
// one tile after the other, and so many blocks (`blocks`) together reach the kernel's full speed.
// When all but the longest sequences are done, fewer are left, and the kernel idles. With contexts
// l_1 >= l_2 >= ..., n of them, m = blocks / (KV heads x splits) sequences are enough for full
// speed; until the longest ends
//   idle = sum over i <= min(m, n) of (l_1 - l_i)
// keys could have been read beside it (fluid limit: all blocks begin together). The call takes as
// long as one over even contexts of
//   mean + idle / n,    between the mean and l_1.
// Splits are those of FlashAttention 2's own heuristic (flash_api.cpp, num_splits_heuristic): none
// if sequences x KV heads fill 0.8 of two blocks a compute unit; else the least whose last wave is
// within 0.85 of the fullest.
//
// Measured beside it (data/layers attention_skew, pure decodes, 987 calls): root mean square of the
// logarithm of predicted over measured time with the mean context 0.091 (RTX 4090) and 0.065 (RTX
// PRO 6000), with this 0.047 and 0.040, bias -0.05 and -0.04 before, -0.01 after; calls without
// splits 0.105 and 0.085 before, 0.045 and 0.039 after. `blocks` is 52: 50 fits the one GPU best,
// 53 the other.
//
// Of calls that carry a prompt too it explains little, and whole runs do not show it
// (docs/serving-accuracy.md): no engine profile sets it, a scenario can.
//
// Kernels that deal keys evenly (FlashAttention 3, FlashInfer, TensorRT-LLM's) have no such idling.
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

struct UnevenContexts {
  double blocks = 0;  // that reach full speed (EngineProfile::Kernels::decode_blocks); 0: no idling
  int units = 1;      // compute units of the GPU
  int kv_heads = 1;   // of a rank

  bool on() const { return blocks > 0; }
  // How many of the longest sequences matter, at most.
  std::size_t most() const;
  // m, for `sequences` sequences of `context` keys in the mean.
  double longest(std::int64_t sequences, double context) const;
  // Keys, for the longest contexts in falling order: at least min(m, sequences) of them, rounded
  // up. Less than sequences x (l_1 - mean).
  double idle(std::int64_t sequences, double context, std::span<const std::int64_t> longest) const;
};

// FlashAttention 2's splits of the keys, for so many thread blocks without, and tiles of keys.
int flash_splits(std::int64_t blocks, int units, std::int64_t tiles);

}  // namespace orrery
