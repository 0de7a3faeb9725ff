// Ops: what a GPU is asked to do, as plain data. An op knows its FLOPs and the bytes it must move
// to and from device memory; it knows nothing about time.
//
// All sizes are those of one rank (already divided by tp, ep, ...). FLOPs count a multiply-add as
// two, and only those of products with weights, of attention and of recurrent state, as published
// utilisations do. Bytes are the least traffic: every operand read once, every result written once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "orrery/base/dtype.h"
#include "orrery/base/units.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

// [m, k] x [k, n], `batch` times with different operands. Reads both operands, writes 16-bit
// results (32-bit ones in fp32 and tf32). FLOPs 2*batch*m*n*k.
struct Gemm {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;
  Format format = Format::kBf16;
  // Whether the second operand is a weight (read from memory at the format's size) or an
  // activation.
  bool weight = true;
  // A gradient's product: the same sizes as any, but operands in other layouts than those that
  // were measured (KernelModel widens its error).
  bool gradient = false;
};

// Attention of `new_tokens` queries a sequence over `past + new_tokens` keys. Causal: query i sees
// past + i + 1 keys. `window` > 0 bounds what a query sees. FLOPs 2*batch*heads*(head_dim +
// value_dim) for each pair that attended_pairs counts; reads queries (16 bits) and the keys and
// values in reach (kv_dtype), writes outputs. value_dim 0 computes scores alone (a sparse indexer).
struct PrefillAttention {
  std::int64_t batch = 1;
  std::int64_t new_tokens = 1, past = 0;
  int heads = 1, kv_heads = 1, head_dim = 128, value_dim = 128;
  std::int64_t window = 0;
  bool causal = true;  // false: an encoder
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;
};

// `queries` new tokens a sequence (1, or more where drafts are verified) over `context` keys each;
// a key is read once for all queries and heads of its group. Else as PrefillAttention.
struct DecodeAttention {
  std::int64_t batch = 1;
  double context = 1;  // the new one counted; mean over the batch; need not be whole
  int heads = 1, kv_heads = 1, head_dim = 128, value_dim = 128;
  std::int64_t window = 0;
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;
  double queries = 1;  // mean over the batch
};

// The core of multi-head latent attention. Prefill works on expanded heads (nope + rope wide);
// decode on the latent itself (absorbed), one shared "kv head" of kv_lora_rank + rope wide.
struct LatentAttentionCore {
  bool decode = false;
  std::int64_t batch = 1;
  std::int64_t new_tokens = 1;  // 1 when decoding
  double context = 1;           // keys each sequence holds, the new ones counted
  int heads = 1;
  int kv_lora_rank = 512, qk_nope_dim = 128, qk_rope_dim = 64, value_dim = 128;
  Dtype dtype = Dtype::kBf16, kv_dtype = Dtype::kBf16;
};

// The whole multi-head latent attention of a layer as one op: projections, norms, rotary, core and
// output projection. For kernels that are measured so; the programs of a step list its parts.
struct MlaModule {
  LatentAttentionCore core;
  int hidden = 7168, q_lora_rank = 1536;
  Format format = Format::kBf16;  // of the projections
};

// Its matrix products: down to the latents, query up, key and value up (decode: absorbed into
// query and output, a matrix a head), output.
struct MlaProjections {
  std::array<Gemm, 5> products;
  std::size_t count = 0;
};
MlaProjections projections(const MlaModule& m);

// Routed experts of a MoE layer on the busiest rank: routing from logits, permutation, the expert
// products and the weighted sum. `tokens` are those of the whole group of tp*ep ranks that share
// the layer. FLOPs are those of the token-expert pairs of the busiest rank (tokens*top_k/ep times
// expert_imbalance when skewed). Reads the weights of the expected active experts, the tokens that
// have an expert here and, once more, what stands between the two products; writes that and the
// results.
struct MoeExperts {
  std::int64_t tokens = 1;
  int hidden = 1, intermediate = 1;  // of one expert before division by tp
  int experts = 1, top_k = 1;
  int tp = 1, ep = 1;
  bool gated = true;
  double skew = 0;  // exponent of the power law of expert loads; 0: balanced
  Format format = Format::kBf16;
  // Whether the tokens were sent to the rank by an all-to-all before (wide expert parallelism), so
  // that the op neither routes nor sums up; prefill and decode then have kernels of their own.
  enum class Dispatched { kNo, kPrefill, kDecode } dispatched = Dispatched::kNo;
};

// Gradients of queries, keys and values of an attention that was computed without keeping its
// scores (FlashAttention: Dao et al. 2022, Algorithm 4). FLOPs 2.5 times the forward's: five
// products a pair instead of two, one of them the recomputed scores. Reads queries, outputs and
// their gradients, keys and values; writes the three gradients; gradients of queries are summed up
// in 32 bits (read and written once).
struct AttentionBackward {
  PrefillAttention forward;
};

// One step of an optimizer over `parameters` weights of a rank: elementwise, no FLOPs. The bytes of
// a parameter follow from the formats (adam_step).
struct OptimizerStep {
  std::int64_t parameters = 1;
  Bytes read{14}, written{14};  // a parameter
};

// A whole block of sparse attention on one rank: norms, projections, rotary embedding, the choice
// of keys (indexer), attention over the chosen ones and the output projection. Queries attend to at
// most top_k of the cached entries; one entry stands for `compress` tokens and is `entry` elements
// wide (latent and rotary key of one shared kv head, or keys and values of all kv heads).
// FLOPs: projections of every token, attention over the chosen entries, scores of the indexer over
// all. Reads weights and, a sequence, the index keys of the context once and for every query the
// chosen entries, but no entry twice.
struct SparseAttentionBlock {
  enum class Kind {
    kDsa,       // DeepSeek-V3.2, GLM-5: indexer over all tokens
    kDsaReuse,  // takes an earlier layer's choice (GLM-5.2)
    kCsa,       // DeepSeek-V4: entries compressed by 4, then chosen
    kHca,       // DeepSeek-V4: compressed by 128, all read
    kMsa        // MiniMax-M3: blocks of keys are chosen
  } kind = Kind::kDsa;
  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1, past = 0;
  int heads = 1;                        // of the rank
  int hidden = 7168, q_rank = 1536;     // q_rank 0: queries are projected directly
  int head_dim = 192, value_dim = 128;  // of a head, as projected
  int entry = 576, top_k = 2048, compress = 1;
  int index_heads = 64, index_dim = 128;  // 0 heads: no indexer
  Format format = Format::kBf16;          // of the projections
  Dtype kv_dtype = Dtype::kBf16;
};

// Recurrent token mixers, whole kernels between the projections: convolution (if conv > 1), gates,
// recurrence. FLOPs a token and value head: 2*k_dim*v_dim for each pass over the state (three in
// the delta rule, gated or Kimi's: read by key, update, read by query; two in Mamba-2), and 2*conv
// a channel. Chunked prefill kernels do more arithmetic in larger products; that is not counted.
// Mamba-2's convolution is an op of its own in programs (CausalConvolution). The state is
// kept in fp32; a decode step reads and writes it, a prefill writes it once.
struct LinearAttentionCore {
  enum class Kind { kGatedDeltaNet, kMamba2, kKimiDelta } kind = Kind::kGatedDeltaNet;
  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1;
  int k_heads = 1, k_dim = 128;  // Mamba-2: groups, state
  int v_heads = 1, v_dim = 128;  // Mamba-2: heads, head_dim
  int conv = 4;                  // width of the convolution; 1: none
  int chunk = 128;               // tokens that a prefill computes at once; Mamba-2 only
  Dtype dtype = Dtype::kBf16;
};

// The causal convolution in front of a recurrent mixer, alone: each of `channels` over a window of
// `window` tokens. Moves the channels in and out; a decode step also reads and writes the windows
// of its sequences. No FLOPs. Which mixer it serves tells its kernel: Kimi's convolves queries,
// keys and values one after the other.
struct CausalConvolution {
  bool decode = false;
  std::int64_t batch = 1, new_tokens = 1, channels = 1;
  int window = 4;
  LinearAttentionCore::Kind mixer = LinearAttentionCore::Kind::kGatedDeltaNet;
  Dtype dtype = Dtype::kBf16;
};

// Memory-bound work over rows of `width` elements: norms, activation, residual add, rotary,
// quantisation.
struct Elementwise {
  enum class Kind {
    kNorm,
    kAddNorm,
    kActivation,
    kAdd,
    kRotary,
    kQuantise,
    kSoftmax,
    kSample,
    kCopy
  };
  Kind kind = Kind::kNorm;
  std::int64_t rows = 1, width = 1;
  Bytes read, written;    // in all
  bool gradient = false;  // the backward kernel; its bytes are its own
};

// Gathers `tokens` rows of `hidden` elements from a table.
struct Embedding {
  std::int64_t tokens = 1, hidden = 1;
  Dtype dtype = Dtype::kBf16;
};

// A collective over a group of ranks. `bytes` is the size of the full (unsharded) buffer: what a
// rank holds before an all-reduce or a reduce-scatter or after an all-gather; for all-to-all what a
// rank sends in all, its own share included; for send one message.
struct Collective {
  enum class Kind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kSend, kReduce };
  // Where the ranks of a group lie is the network room's matter (RankPlacement). The last three
  // belong to training: context parallelism, copies of a sharded set of weights, copies of experts.
  enum class Group { kTensor, kPipeline, kData, kExpert, kContext, kReplica, kExpertData };
  Kind kind = Kind::kAllReduce;
  Group group = Group::kTensor;
  int ranks = 1;
  Bytes bytes;
};

using Op = std::variant<Gemm, PrefillAttention, DecodeAttention, LatentAttentionCore, MlaModule,
                        MoeExperts, LinearAttentionCore, Elementwise, Embedding, Collective,
                        AttentionBackward, OptimizerStep, CausalConvolution, SparseAttentionBlock>;

// FLOPs of the op; 0 for elementwise work, embeddings and collectives.
Flops flops(const Op& op);
// Of a kind that is known, without asking for it.
Flops flops(const Gemm& g);
Flops flops(const PrefillAttention& a);
Flops flops(const DecodeAttention& a);

// Bytes that must cross the device's memory interface if nothing is cached; for collectives 0.
Bytes bytes(const Op& op);
Bytes bytes(const Gemm& g);
Bytes bytes(const PrefillAttention& a);
Bytes bytes(const DecodeAttention& a);

// The number format whose peak rate bounds the op's arithmetic; fp32 for ops without FLOPs.
Dtype arithmetic(const Op& op);

// "gemm", "attention_prefill", "attention_decode", "mla", "mla_module", "moe", "linear_attention",
// "elementwise", "embedding", "collective", "attention_backward", "optimizer",
// "causal_convolution", "sparse_attention".
std::string_view kind_name(const Op& op);

// The op's sizes for a person: "gemm bf16 [128, 4096] x [4096, 6144]".
std::string describe(const Op& op);

std::string_view to_text(Collective::Kind kind);

// The products of the gradients of a product [m, k] x [k, n]: of the first operand
// ([m, n] x [n, k]) and of the second ([k, m] x [m, n]).
struct GemmGradients {
  Gemm first, second;
};
GemmGradients gradients(const Gemm& forward);

// The backward kernel of elementwise work: it reads the gradients of the results and the operands,
// and writes the operands' gradients. An add has none (no bytes); copies and rotary embeddings only
// move the gradient.
Elementwise gradient(const Elementwise& forward);

// Fused Adam in mixed precision: reads gradient, master weight (where it is kept beside the weight)
// and two moments, writes the moments, the master weight and the weight. bf16 weights and gradients
// with fp32 states: 14 bytes read and 14 written.
OptimizerStep adam_step(std::int64_t parameters, Dtype weight, Dtype gradient,
                        std::optional<Dtype> master, Dtype moments);

// Query-key pairs that causal (or full) attention computes for one sequence and head, window
// included.
double attended_pairs(std::int64_t new_tokens, std::int64_t past, std::int64_t window, bool causal);

// Expected number of distinct experts that `tokens` tokens activate of `experts` when each picks
// `top_k` at random by the power-law loads of exponent `skew` (0: uniform), and the load of the
// busiest of `ep` equal groups over the mean load.
double expected_active_experts(std::int64_t tokens, int experts, int top_k, double skew);
double expert_imbalance(std::int64_t tokens, int experts, int top_k, int ep, double skew);

}  // namespace orrery
