// Blocks of sparse attention, each as one op, because engines and tables time them whole: DSA
// (DeepSeek-V3.2, GLM-5), CSA and HCA (DeepSeek-V4), MSA (MiniMax-M3).
//
// Every op struct of this folder has the members that op.h lists (name, error family, FLOPs, bytes,
// arithmetic, description).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/dtype.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

// A block of sparse attention on one rank as one op: norms, projections, rotary embedding, the
// compressor, the indexer that chooses entries or keys, attention and the output projection.
//
// Kinds, for the query at position p (from 0) of a sequence:
//   kDsa, kDsaReuse  attends to at most top_k keys of one shared KV head of `entry` elements
//                    (latent and rotary key), an indexer scores every key. Reuse takes the choice
//                    of an earlier layer (GLM-5.2).
//   kCsa, kHca       attends to the last `window` tokens, of which it is one, and to entries of
//                    `compress` tokens each: floor((p + 1) / compress) are complete, at most top_k
//                    are read (0: all). An indexer, if there is one, scores all complete entries.
//                    Window and entries have one shared KV head of `entry` elements, which is key
//                    and value. kWindow: the same without entries.
//   kMsa             attends to the keys of at most top_k / block blocks, its own included, up to
//                    itself. Each index head scores every key in sight.
//
// FLOPs: projections of every token, scores and values of attention, scores of the indexer. Softmax
// and the compressor's weighted sum count no FLOPs, as elsewhere. The sum over the new tokens is
// exact (of kDsa and kDsaReuse: the mean query's times their number), so that a prefill of n tokens
// and m decode steps have the FLOPs of a prefill of n + m.
//
// Bytes: the weights once, inputs and outputs of each token, and for each sequence the window, the
// index keys in sight once, and the chosen entries, but no entry twice.
struct SparseAttentionBlock {
  static constexpr std::string_view kName = "sparse_attention";
  static constexpr Family kFamily = Family::kMla;
  static constexpr bool kAttends = true;

  enum class Kind { kDsa, kDsaReuse, kCsa, kHca, kMsa, kWindow } kind = Kind::kDsa;
  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1;
  double past = 0;              // cached tokens of a sequence; the mean over the batch
  std::int64_t padding = 0;     // rows that the projections alone compute
  int heads = 1, kv_heads = 1;  // of the rank; kv_heads for kMsa, elsewhere one is shared
  int hidden = 7168;
  int q_rank = 1536;                    // 0: queries are projected directly
  int head_dim = 192, value_dim = 128;  // of a head, as projected
  int entry = 576;                      // cached elements of an entry, or of a token, on the rank
  int top_k = 2048;                     // entries or keys that a query reads; 0: all
  int compress = 1;                     // tokens of an entry
  bool overlapping = false;             // the compressor has two series (CompressedAttention)
  int window = 0;
  int block = 1;                          // kMsa: keys that are chosen together
  int rope_dim = 64;                      // kCsa, kHca, kWindow: rotated elements of an entry
  int index_heads = 64, index_dim = 128;  // of the rank; 0 heads: no indexer
  int o_groups = 0, o_rank = 0;           // of the rank; 0: one output projection
  Format format = Format::kBf16;          // of the projections
  Dtype kv_dtype = Dtype::kBf16;

  bool operator==(const SparseAttentionBlock&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const;
  std::string description() const;
};

// Multiply-adds of a SparseAttentionBlock by part: those of one token in all projections, and those
// of all new tokens of one sequence elsewhere.
struct SparseAttentionWork {
  double queries = 0;      // query, key and value projections, for a token
  double compressor = 0;   // kv and gate of the compressor, for a token
  double indexer = 0;      // projections of the indexer, its compressor included, for a token
  double output = 0;       // output projection, for a token
  double attention = 0;    // scores and values, for a sequence
  double index_score = 0;  // scores of the indexer, for a sequence
  double projections() const { return queries + compressor + indexer + output; }
};
SparseAttentionWork work(const SparseAttentionBlock& block);

// Bytes of one cached entry, or token of the window, of DeepSeek-V4. In fp8, as vLLM and SGLang
// keep it whatever the precision of the model is: the part that is not rotated in fp8 with one
// scale byte for 64 elements and one byte of padding, the rotated part in 16 bits: 584 bytes for
// 512 elements (DeepSeekV4SingleKVPool, deepseek_v4_memory_pool.py of SGLang).
Bytes compressed_entry_bytes(int elements, int rope_dim, Dtype kv_dtype);
// Bytes of one cached index key in fp8 with a 32-bit scale for 128 elements (the same file).
Bytes index_key_bytes(int elements);

}  // namespace orrery
