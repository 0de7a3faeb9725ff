// Token mixers: the half of a layer in which tokens see each other. Attention (softmax, latent,
// compressed) caches something for every token; linear attention keeps a state of constant size.
//
// All sizes are element counts of the whole model, before any sharding.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace orrery {

// How queries and keys are normalised before the dot product.
enum class QkNorm {
  kNone,        // not at all
  kUnweighted,  // an L2/RMS norm per head without weights (Llama 4)
  kPerHead,     // one weight vector of head_dim shared by all heads (Qwen 3, Gemma 3)
  kFull,        // one weight for every element of all heads (MiniMax M2)
};

// The tokens that a window holds.
enum class WindowKind {
  kSliding,  // a token sees the last `window` tokens, itself included
  kChunked,  // a token sees the tokens of its own chunk of `window` (Llama 4)
};

// The choice of key blocks in block-sparse attention (MSA of MiniMax-M3, arXiv:2606.13392;
// minimax_m3.py of SGLang). Each index head serves the query heads of one KV head: it
// scores one shared index key of a token, a block's score is the largest of its tokens', and the
// queries read the tokens of the `top_blocks` best blocks. The layer caches one index key of
// `index_dim` elements for each token.
// Weights: index query hidden x index_heads*index_dim, index key hidden x index_dim, and a norm of
// index_dim for each of the two.
struct BlockSelection {
  int block = 0;       // tokens of a block
  int top_blocks = 0;  // blocks that a query reads, its own included
  int index_heads = 0;
  int index_dim = 0;
  bool operator==(const BlockSelection&) const = default;
};

// Softmax attention: MHA (kv_heads == heads), GQA, MQA (kv_heads == 1).
// Weights: q hidden x heads*head_dim, k hidden x kv_heads*head_dim, v hidden x kv_heads*value_dim,
// o heads*value_dim x hidden.
struct SoftmaxAttention {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;   // of queries and keys; heads*head_dim need not equal hidden
  int value_dim = 0;  // of values; equal to head_dim in almost every model
  int window = 0;     // tokens; 0: the whole context
  WindowKind window_kind = WindowKind::kSliding;  // meaningless when window is 0
  QkNorm qk_norm = QkNorm::kNone;
  bool rope = true;  // rotary embedding on queries and keys in this layer
  bool q_bias = false;
  bool k_bias = false;
  bool v_bias = false;
  bool o_bias = false;
  bool sinks = false;        // one learned logit per head (gpt-oss)
  bool output_gate = false;  // q also yields a gate as wide as the output (Qwen 3-Next)
  bool head_gate = false;    // a gate hidden x heads scales each head's output (Step 3.5)
  // Values are the keys before their norm and rotation: there is no v projection, but both are
  // cached (attention_k_eq_v of Gemma 4).
  bool values_from_keys = false;
  // The layer reads keys and values that an earlier layer cached: it has no k and v projections and
  // caches nothing (num_kv_shared_layers of Gemma 3n and Gemma 4).
  bool shares_kv = false;
  std::optional<BlockSelection> blocks;  // absent: queries read every key of the window
  bool operator==(const SoftmaxAttention&) const = default;
};

// The indexer of DeepSeek sparse attention (DeepSeek-V3.2, GLM-5): a small attention that picks the
// past tokens which the main attention then reads. It caches one key of head_dim per token.
// Weights: wq q_lora_rank x heads*head_dim, wk hidden x head_dim, key norm (weight and bias), head
// weights hidden x heads.
struct SparseIndexer {
  int heads = 0;
  int head_dim = 0;
  bool operator==(const SparseIndexer&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, V3; Kimi K2). The cache holds, per token, one latent of
// kv_lora_rank and one rotary key of qk_rope_dim, shared by all heads.
// Weights: q_a hidden x q_lora_rank and q_b q_lora_rank x heads*(nope+rope) (or one q hidden x
// heads*(nope+rope) when q_lora_rank is 0), kv_a hidden x (kv_lora_rank+rope), kv_b kv_lora_rank x
// heads*(nope+value), o heads*value x hidden, an RMS norm on each latent.
struct LatentAttention {
  int heads = 0;
  int q_lora_rank = 0;  // 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_dim = 0;
  int qk_rope_dim = 0;
  int value_dim = 0;
  int sparse_top_k = 0;      // past tokens read by a token, once the context is longer; 0: all
  bool output_gate = false;  // a gate hidden x heads*value scales the output (Kimi-K3)
  // Absent in sparse layers that reuse the choice of an earlier layer (GLM-5.2).
  std::optional<SparseIndexer> indexer;
  bool operator==(const LatentAttention&) const = default;
};

// Compressed attention of DeepSeek-V4 (sections 2.3.1 and 2.3.2 of its report;
// modeling_deepseek_v4.py of transformers).
// All heads share one KV head, whose key is its value too. A query sees the last `window` tokens,
// and entries that each stand for `compress` tokens: all of them (heavily compressed attention,
// HCA), or the `top_k` that an indexer picks (compressed sparse attention, CSA). An entry is a
// gated sum over its tokens; with `overlapping` windows, over those of the entry before it as well,
// which doubles the width of the compressor.
// Weights: q_a hidden x q_lora_rank and its norm, q_b q_lora_rank x heads*head_dim, kv hidden x
// head_dim and its norm, a sink for each head, o_a as `o_groups` matrices of (heads/o_groups *
// head_dim) x o_lora_rank, o_b o_groups*o_lora_rank x hidden. The compressor, with w = head_dim or
// twice that: kv and gate hidden x w each, a bias compress x w, a norm of head_dim. The indexer: a
// compressor of its own of indexer.head_dim, queries q_lora_rank x heads*dim, head weights hidden x
// heads.
struct CompressedAttention {
  int heads = 0;
  int head_dim = 0;
  int rope_dim = 0;  // the part of head_dim that is rotated
  int q_lora_rank = 0;
  int o_groups = 1;
  int o_lora_rank = 0;
  int window = 0;
  int compress = 0;  // tokens of an entry; 0: the window alone
  bool overlapping = false;
  int top_k = 0;                         // entries that a query reads; 0: all
  std::optional<SparseIndexer> indexer;  // present if top_k > 0
  bool operator==(const CompressedAttention&) const = default;
};

// Gated DeltaNet linear attention (Qwen 3-Next, Qwen 3.5; arXiv:2412.06464). State per sequence:
// v_heads matrices k_dim x v_dim, and the last conv-1 inputs of the convolution over q, k and v.
// Weights: in-projections of q, k (k_heads*k_dim each), v and gate z (v_heads*v_dim each), b and a
// (v_heads each); depthwise convolution of width `conv` over q, k, v; A and dt bias per value head;
// gated RMS norm of v_dim; out.
struct GatedDeltaNet {
  int k_heads = 0;
  int k_dim = 0;
  int v_heads = 0;
  int v_dim = 0;
  int conv = 0;
  bool operator==(const GatedDeltaNet&) const = default;
};

// Kimi Delta Attention (KDA: Kimi Linear, arXiv:2510.26692; Kimi-K3): a delta rule whose decay has
// a value of its own for every channel of a head. State per sequence: `heads` matrices head_dim x
// head_dim, and the last conv-1 inputs of the convolutions over q, k and v.
// Weights, with w = heads*head_dim: q, k and v hidden x w each, a convolution of width `conv` over
// each, the decay's hidden x head_dim and head_dim x w with a bias of w and a scale for each head,
// beta hidden x heads, the output gate hidden x w (full_rank_gate) or hidden x head_dim and
// head_dim x w, a norm of head_dim, o w x hidden.
struct KimiDelta {
  int heads = 0;
  int head_dim = 0;
  int conv = 0;
  bool full_rank_gate = false;
  bool operator==(const KimiDelta&) const = default;
};

// Mamba-2 mixer (arXiv:2405.21060; Nemotron-H). State per sequence: heads matrices head_dim x
// state, and the last conv-1 inputs of the convolution over x, B and C.
// Weights: in-projection hidden x (2*heads*head_dim + 2*groups*state + heads), depthwise
// convolution of width `conv` over heads*head_dim + 2*groups*state channels, A, D and dt bias per
// head, gated norm of heads*head_dim, out.
struct Mamba2 {
  int heads = 0;
  int head_dim = 0;
  int state = 0;   // d_state
  int groups = 0;  // B and C are shared by heads/groups heads
  int conv = 0;
  bool conv_bias = false;
  int chunk = 128;  // tokens that a prefill kernel computes at once
  bool operator==(const Mamba2&) const = default;
};

// The layer has no token mixer (MLP-only layers of Nemotron-H).
struct NoMixer {
  bool operator==(const NoMixer&) const = default;
};

using Mixer = std::variant<NoMixer, SoftmaxAttention, LatentAttention, CompressedAttention,
                           GatedDeltaNet, KimiDelta, Mamba2>;

// ---- what a layer keeps between tokens ----------------------------------------------------------

// Cached elements per token and layer: 2*kv_heads*head_dim for softmax attention (keys and values),
// kv_lora_rank + qk_rope_dim for MLA, 0 for linear attention, for layers that read the cache of
// another and for none. Compressed attention: head_dim, for each token of the window and for each
// entry. Index keys are not included (see below). A window bounds the number of tokens, not this.
std::int64_t kv_elements_per_token(const Mixer& mixer);

// Further cached elements of an index key: for each token, with compressed attention for each
// entry. 0 without an indexer.
std::int64_t indexer_elements_per_token(const Mixer& mixer);

// Elements of recurrent state per sequence and layer, whatever the context: the matrices of linear
// attention. 0 for softmax and latent attention.
std::int64_t state_elements(const Mixer& mixer);

// Elements of convolution state per sequence and layer: (conv-1) x channels; 0 without a
// convolution.
std::int64_t conv_state_elements(const Mixer& mixer);

}  // namespace orrery
