// Ops of softmax attention, of multi-head latent attention (MLA) and of sparse attention.
//
// Every op struct of this folder has the members that op.h lists (name, error family, FLOPs, bytes,
// arithmetic, description).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/workload/ops/products.h"

namespace orrery {

// Attention of `new_tokens` queries per sequence over `past + new_tokens` keys. With a causal mask
// query i sees past + i + 1 keys; a `window` > 0 bounds the keys that a query sees.
//
// FLOPs: 2 * batch * heads * (head_dim + value_dim) for each query-key pair that attended_pairs
// counts. Reads queries (16 bits) and the visible keys and values (kv_dtype), writes outputs.
// value_dim 0 computes scores alone (a sparse indexer).
struct PrefillAttention {
  static constexpr std::string_view kName = "attention_prefill";
  static constexpr Family kFamily = Family::kAttention;
  static constexpr bool kAttends = true;
  enum class Kernel { kCausal, kEncoder };  // in an encoder every query sees every key
  static constexpr std::size_t kKernels = 2;

  std::int64_t batch = 1;
  std::int64_t new_tokens = 1, past = 0;
  int heads = 1, kv_heads = 1, head_dim = 128, value_dim = 128;
  std::int64_t window = 0;  // 0: no bound
  bool causal = true;       // false: an encoder
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;

  Kernel kernel() const { return causal ? Kernel::kCausal : Kernel::kEncoder; }
  bool operator==(const PrefillAttention&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const { return dtype; }
  std::string description() const;
};

// Attention of `queries` new tokens per sequence over `context` keys each: one query when decoding,
// more when drafts are verified. A key is read once for all queries and heads of its group. FLOPs
// and bytes as for PrefillAttention.
struct DecodeAttention {
  static constexpr std::string_view kName = "attention_decode";
  static constexpr Family kFamily = Family::kAttention;
  static constexpr bool kAttends = true;

  std::int64_t batch = 1;
  double context = 1;  // keys of a sequence, new ones included; the mean over the batch, any real
  int heads = 1, kv_heads = 1, head_dim = 128, value_dim = 128;
  std::int64_t window = 0;
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;
  double queries = 1;  // mean over the batch

  bool operator==(const DecodeAttention&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const { return dtype; }
  std::string description() const;
};

// Gradients of the queries, keys and values of an attention whose scores were not kept
// (FlashAttention: Dao et al. 2022, arXiv:2205.14135, Algorithm 4).
//
// FLOPs: 2.5 times the forward's, because a pair takes five products instead of two, one of which
// recomputes the score. Reads queries, outputs and their gradients, keys and values; writes the
// three gradients. Gradients of queries are summed in 32 bits, read once and written once.
struct AttentionBackward {
  static constexpr std::string_view kName = "attention_backward";
  static constexpr Family kFamily = Family::kAttention;
  static constexpr bool kAttends = true;

  PrefillAttention forward;

  bool operator==(const AttentionBackward&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const { return forward.dtype; }
  std::string description() const;
};

// The core of multi-head latent attention. Prefill works on expanded heads (nope + rope wide).
// Decode works on the latent itself (absorbed): one shared KV head of kv_lora_rank + rope elements.
struct LatentAttentionCore {
  static constexpr std::string_view kName = "mla";
  static constexpr Family kFamily = Family::kMla;
  static constexpr bool kAttends = true;

  bool decode = false;
  std::int64_t batch = 1;
  std::int64_t new_tokens = 1;  // 1 when decoding
  double context = 1;           // keys of each sequence, new ones included
  int heads = 1;
  int kv_lora_rank = 512, qk_nope_dim = 128, qk_rope_dim = 64, value_dim = 128;
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;

  bool operator==(const LatentAttentionCore&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const { return dtype; }
  std::string description() const;
};

// The multi-head latent attention of a layer as one op: projections, norms, rotary embedding, core
// and output projection. It stands for kernels that are measured so; the programs of a step list
// the parts as ops of their own.
struct MlaModule {
  static constexpr std::string_view kName = "mla_module";
  static constexpr Family kFamily = Family::kMla;
  static constexpr bool kAttends = true;

  LatentAttentionCore core;
  int hidden = 7168, q_lora_rank = 1536;
  Format format = Format::kBf16;  // of the projections

  bool operator==(const MlaModule&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const;
  std::string description() const;
};

// The matrix products of an MlaModule: down to the latents, query up, key and value up (when
// decoding absorbed into query and output, a matrix per head), output.
struct MlaProjections {
  std::array<Gemm, 5> products;
  std::size_t count = 0;
};
MlaProjections projections(const MlaModule& m);

// Query-key pairs that attention computes for one sequence and head, with or without a causal mask,
// within the window.
double attended_pairs(std::int64_t new_tokens, std::int64_t past, std::int64_t window, bool causal);

}  // namespace orrery
