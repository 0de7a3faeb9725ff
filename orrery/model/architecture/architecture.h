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
#include "orrery/model/checkpoint/stored_format.h"
#include "orrery/model/layers/mixers.h"
#include "orrery/model/layers/mlps.h"

namespace orrery {

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
  // Hyper-connections (DeepSeek-V4, arXiv:2512.24880): the residual is this many streams. Mixer and
  // MLP each read a weighted sum of them and add their output to each. Weights of each half, with s
  // streams: (2+s)*s x s*hidden, as many biases as rows, and three scales. 1: a plain residual.
  int residual_streams = 1;
  // Attention residuals (Kimi-K3): mixer and MLP each read a softmax-weighted sum of this many
  // earlier sums of blocks of layers. Weights of each half: a query and a norm of hidden each. 0: a
  // plain residual.
  int residual_sources = 0;
  // Elements of an input of its own that the layer adds at its end (Gemma 3n, Gemma 4). Weights: a
  // gate hidden x per_layer_input, a projection back, a norm of hidden. 0: none.
  int per_layer_input = 0;
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
  // The checkpoint stores a copy of the embedding and of the LM head with each layer (DeepSeek-V3).
  bool copies_tables = false;
  bool operator==(const Mtp&) const = default;
};

// A tower beside the text model that turns images, video or sound into embeddings, with its
// projector. Its parameters take memory and disk; its work is not modelled.
struct Tower {
  std::string name;  // "vision" or "audio"
  std::int64_t parameters = 0;
  bool operator==(const Tower&) const = default;
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
  std::vector<Tower> towers;
  // Rows of the table of per-layer inputs (LayerSpec::per_layer_input); 0: there is none.
  int per_layer_vocab = 0;

  Dtype dtype = Dtype::kBf16;  // of the checkpoint's plain weights: fp32, fp16 or bf16
  CheckpointQuantization quantization;
  std::vector<std::string> notes;  // full sentences: what the reader assumed
};

// The same model with `kv_heads` KV heads in every softmax attention layer, for comparing MHA, GQA
// and MQA. InputError if it does not divide the heads of a layer, or no layer has softmax
// attention.
Architecture with_kv_heads(Architecture model, int kv_heads);

}  // namespace orrery
