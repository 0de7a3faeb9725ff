// The shape of a transformer: everything the later rooms need to know of a model, and nothing about
// time or bytes.
//
// An Architecture is a stack of layers. Layers that are alike share one LayerSpec; the stack itself
// is a list of runs (spec, count) from the first layer to the last. So a model with 61 equal layers
// has one run, one whose first three layers are dense has two, and Gemma 3 (five sliding-window
// layers, then a full one) has about twenty short runs over two specs. Nothing is averaged.
//
// A layer is a token mixer (attention, linear attention or none) followed by a channel mixer (MLP,
// MoE or none), each with its norms and a residual add.
//
// All sizes are element counts of the whole model, before any sharding. Readers (hf_config.h)
// guarantee: every size is positive unless its comment allows 0, kv_heads divides heads, top_k <=
// experts, every run names an existing spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orrery/base/dtype.h"

namespace orrery {

// ---- token mixers -------------------------------------------------------------------------------

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
  int sparse_top_k = 0;  // past tokens read by a token, once the context is longer; 0: all
  // Absent in sparse layers that reuse the choice of an earlier layer (GLM-5.2).
  std::optional<SparseIndexer> indexer;
  bool operator==(const LatentAttention&) const = default;
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

using Mixer = std::variant<NoMixer, SoftmaxAttention, LatentAttention, GatedDeltaNet, Mamba2>;

// ---- channel mixers -----------------------------------------------------------------------------

enum class Activation { kSilu, kGelu, kRelu, kRelu2 };

// Two matrices (up, down), or three when gated (gate, up, down).
struct DenseMlp {
  int intermediate = 0;
  bool gated = false;
  bool bias = false;  // on every matrix
  Activation activation = Activation::kSilu;
  bool operator==(const DenseMlp&) const = default;
};

// A mixture of experts: a router hidden x experts picks top_k experts for each token; shared
// experts see every token.
struct MoeMlp {
  int experts = 0;
  int top_k = 0;
  int intermediate = 0;  // of one routed expert
  bool gated = true;
  bool bias = false;  // on every matrix of the routed experts (gpt-oss)
  Activation activation = Activation::kSilu;
  int shared_intermediate = 0;  // of all shared experts together, gated as the others; 0: none
  bool shared_gate = false;     // a learned gate hidden x 1 scales the shared output (Qwen 2 MoE)
  bool router_bias = false;     // one bias or score correction per expert
  bool router_fp32 = false;     // its product is computed in fp32, whatever the activations are
  bool norm_topk = false;       // the weights of the chosen experts are normalised to sum 1
  int groups = 1;  // device-limited routing: experts are picked within `top_groups` of `groups`
  int top_groups = 1;
  bool operator==(const MoeMlp&) const = default;
};

// The layer has no channel mixer (attention-only and Mamba-only layers of Nemotron-H).
struct NoMlp {
  bool operator==(const NoMlp&) const = default;
};

using Mlp = std::variant<NoMlp, DenseMlp, MoeMlp>;

// ---- layers -------------------------------------------------------------------------------------

// kLayer: mean and variance, weight and bias. kLayerNoBias: the same without bias (MPT). kRms:
// weight only.
enum class Norm { kRms, kLayer, kLayerNoBias };

struct LayerSpec {
  Mixer mixer;
  std::optional<SoftmaxAttention> cross_attention;  // over the encoder's output (decoders of T5)
  Mlp mlp;
  int norms = 2;  // norms over hidden: 2 usually, 4 for Gemma 2/3, 1 where both halves share one
  // Mixer and MLP read the same input and are added together (Falcon, GPT-J, GPT-NeoX, Phi-2).
  bool parallel = false;
  bool operator==(const LayerSpec&) const = default;
};

// `count` layers in a row, all LayerSpec number `spec`.
struct LayerRun {
  int spec = 0;
  int count = 0;
  bool operator==(const LayerRun&) const = default;
};

// A stack of layers. Stage boundaries of pipeline parallelism cut it anywhere.
class LayerStack {
 public:
  // Appends `count` layers; joins the last run and reuses an equal spec where it can. REQUIRES
  // count >= 0.
  void append(const LayerSpec& layer, int count = 1);

  const std::vector<LayerSpec>& specs() const { return specs_; }  // the distinct layers
  const std::vector<LayerRun>& runs() const { return runs_; }     // first to last
  int size() const { return size_; }                              // number of layers
  bool empty() const { return size_ == 0; }

  // The layer at `index`. REQUIRES 0 <= index < size().
  const LayerSpec& at(int index) const;
  // How many of the layers [first, last) are of spec number `spec`. REQUIRES 0 <= first <= last <=
  // size().
  int count(int spec, int first, int last) const;
  // How many of all layers are of spec number `spec`.
  int count(int spec) const { return count(spec, 0, size_); }

 private:
  std::vector<LayerSpec> specs_;
  std::vector<LayerRun> runs_;
  int size_ = 0;
};

// ---- the whole ----------------------------------------------------------------------------------

// How tokens know their place. kLearned adds a table of `Architecture::position_rows` rows;
// kRelative is T5's bias.
enum class Position { kRope, kLearned, kAlibi, kRelative, kNone };

// The kind of model. kEncoderDecoder has both `encoder` and `layers`; the others have `layers`
// only.
enum class Kind { kDecoder, kEncoder, kEncoderDecoder };

// Multi-token prediction: `layers` extra layers, each with two norms and a projection 2*hidden ->
// hidden before it and one norm after it; embedding and LM head are the main model's. Never part of
// the total parameter count.
struct Mtp {
  int layers = 0;
  LayerSpec layer;
  bool operator==(const Mtp&) const = default;
};

// How the weights of the checkpoint are stored.
enum class WeightFormat {
  kPlain,  // Architecture::dtype
  kFp8,    // one scale per tensor or channel, or per block (block_rows x block_columns)
  kInt8,
  kInt4,   // GPTQ/AWQ: one scale (and zero) per group of `group` inputs
  kMxfp4,  // groups of 32 with an 8-bit scale
  kNvfp4,  // groups of 16 with an fp8 scale
};

// `quantization_config` of the checkpoint. Embedding, LM head, norms and router stay at
// Architecture::dtype; so do the modules named in `skipped`.
struct CheckpointQuantization {
  WeightFormat format = WeightFormat::kPlain;
  std::string method;  // as written: "fp8", "gptq", "awq", "mxfp4", "compressed-tensors", ...
  int group = 0;       // inputs per scale; 0: one scale per tensor or channel
  int block_rows = 0;  // fp8 blocks, 0: none
  int block_columns = 0;
  bool weights_only = false;  // activations stay at Architecture::dtype
  std::vector<std::string> skipped;
  bool operator==(const CheckpointQuantization&) const = default;
};

struct Architecture {
  std::string id;      // catalog id, or the path it was read from
  std::string family;  // model_type of the config, such as "llama"
  Kind kind = Kind::kDecoder;

  int hidden = 0;
  int vocab = 0;  // rows of the embedding as in the checkpoint (padding of the checkpoint included)
  bool tied_embeddings = false;  // the LM head is the embedding
  bool lm_head = true;           // false: no output projection
  bool lm_head_bias = false;
  // BERT: a dense hidden x hidden layer with bias and a norm before the head.
  bool lm_head_transform = false;
  // BERT: a dense hidden x hidden layer with bias over the first token, and its two-way head.
  bool pooler = false;
  Position position = Position::kRope;
  int position_rows = 0;        // rows of the learned position table; 0 unless kLearned
  int relative_buckets = 0;     // T5: rows of the bias table (one each for encoder and decoder)
  int token_types = 0;          // BERT: rows of the segment embedding
  bool embedding_norm = false;  // a norm right after the embedding (BLOOM, BERT)
  bool final_norm = true;       // a norm after the last layer (of encoder and decoder each)
  Norm norm = Norm::kRms;
  int max_context = 0;  // tokens the model was made for

  LayerStack layers;   // the decoder, or the only stack
  LayerStack encoder;  // empty unless kEncoderDecoder
  std::optional<Mtp> mtp;

  Dtype dtype = Dtype::kBf16;  // of the checkpoint's plain weights: fp32, fp16 or bf16
  CheckpointQuantization quantization;
};

// The same model with `kv_heads` KV heads in every softmax attention layer, for comparing MHA, GQA
// and MQA. InputError if it does not divide the heads of a layer, or no layer has softmax
// attention.
Architecture with_kv_heads(Architecture model, int kv_heads);

// ---- what a layer keeps between tokens ----------------------------------------------------------

// Cached elements per token and layer: 2*kv_heads*head_dim for softmax attention (keys and values),
// kv_lora_rank + qk_rope_dim for MLA, 0 for linear attention and none. The indexer's keys are not
// included (see below). A window bounds the number of tokens, not this.
std::int64_t kv_elements_per_token(const Mixer& mixer);

// Extra cached elements per token of a sparse indexer: its head_dim; 0 without one.
std::int64_t indexer_elements_per_token(const Mixer& mixer);

// Elements of recurrent state per sequence and layer, whatever the context: the matrices of linear
// attention. 0 for softmax and latent attention.
std::int64_t state_elements(const Mixer& mixer);

// Elements of convolution state per sequence and layer: (conv-1) x channels; 0 without a
// convolution.
std::int64_t conv_state_elements(const Mixer& mixer);

}  // namespace orrery
