// BERT and the encoder-decoders T5 and Switch Transformers.
#include <fmt/format.h>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

struct T5Mlp {
  DenseMlp dense;
  std::optional<MoeMlp> experts;
};

SoftmaxAttention t5_attention(const HfConfig& c) {
  const int heads = c.size({"num_heads"}, limit::kHeads);
  SoftmaxAttention a = make_attention(c, heads, heads, c.size({"d_kv"}, limit::kHeadDim));
  a.rope = false;
  return a;
}

DenseMlp t5_mlp(const HfConfig& c) {
  DenseMlp mlp;
  mlp.intermediate = c.size({"d_ff"}, limit::kIntermediate);
  const std::string kind = c.text_or({"feed_forward_proj"}, "relu");
  if (kind == "gated-gelu") {
    mlp.gated = true;
    mlp.activation = Activation::kGelu;
  } else if (kind == "relu") {
    mlp.activation = Activation::kRelu;
  } else {
    c.fail({"feed_forward_proj"}, fmt::format("expected relu or gated-gelu, got '{}'", kind));
  }
  return mlp;
}

// Layers 1, 1+step, 1+2 step... have experts; all of them for step 1, none for step 0.
int sparse_step(const HfConfig& c, Key sparse_layers, int layers) {
  const int sparse = c.count_or(sparse_layers, 0, limit::kLayers);
  if (sparse == 0) return 0;
  if (layers % sparse != 0) {
    c.fail(sparse_layers, fmt::format("{} sparse layers do not divide {} layers", sparse, layers));
  }
  return layers / sparse;
}

void append_t5_layers(LayerStack& stack, const SoftmaxAttention& a, bool decoder, const T5Mlp& mlp,
                      int layers, int step) {
  LayerSpec layer;
  layer.mixer = a;
  layer.norms = decoder ? 3 : 2;
  if (decoder) layer.cross_attention = a;
  for (int i = 0; i < layers; ++i) {
    if (mlp.experts && step > 0 && (step == 1 || i % step == 1)) {
      layer.mlp = *mlp.experts;
    } else {
      layer.mlp = mlp.dense;
    }
    stack.append(layer);
  }
}

// n_positions only names the length used in training (512 where absent, the default of the class).
Architecture t5_model(const HfConfig& c, const std::optional<MoeMlp>& experts) {
  Architecture m = read_common(c, {.tied = true, .context = 512});
  m.kind = Kind::kEncoderDecoder;
  m.position = Position::kRelative;
  m.relative_buckets = c.size_or({"relative_attention_num_buckets"}, 32, limit::kHeadDim);
  const int encoder = c.size({"num_layers"}, limit::kLayers);
  const int decoder = c.size_or({"num_decoder_layers"}, encoder, limit::kLayers);
  const SoftmaxAttention a = t5_attention(c);
  const T5Mlp mlp{t5_mlp(c), experts};
  append_t5_layers(m.encoder, a, false, mlp, encoder,
                   experts ? sparse_step(c, {"num_sparse_encoder_layers"}, encoder) : 0);
  append_t5_layers(m.layers, a, true, mlp, decoder,
                   experts ? sparse_step(c, {"num_sparse_decoder_layers"}, decoder) : 0);
  return m;
}

}  // namespace

// Norms come after each half; nothing follows the last layer. BertModel has the pooler and no head,
// BertForMaskedLM the head and no pooler, BertForPreTraining (what the released checkpoints hold)
// both.
Architecture read_bert(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  m.kind = Kind::kEncoder;
  m.norm = Norm::kLayer;
  m.position = Position::kLearned;
  m.position_rows = m.max_context;
  m.token_types = c.size_or({"type_vocab_size"}, 2, limit::kVocab);
  m.embedding_norm = true;
  m.final_norm = false;
  const std::vector<std::string> names =
      c.has({"architectures"}) ? c.texts({"architectures"}) : std::vector<std::string>{};
  const std::string name = names.empty() ? "BertForPreTraining" : names.front();
  m.pooler = name != "BertForMaskedLM";
  m.lm_head = m.lm_head_bias = m.lm_head_transform = name != "BertModel";
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.rope = false;
  set_bias(a, true, true);
  DenseMlp mlp;
  mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
  mlp.bias = true;
  mlp.activation = read_activation(c, {"hidden_act"});
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = mlp;
  m.layers.append(layer, layer_count(c));
  return m;
}

Architecture read_t5(const HfConfig& c) { return t5_model(c, std::nullopt); }

// One expert per token.
Architecture read_switch(const HfConfig& c) {
  const DenseMlp dense = t5_mlp(c);
  MoeMlp moe;
  moe.experts = c.size({"num_experts"}, limit::kExperts);
  moe.top_k = 1;
  moe.intermediate = dense.intermediate;
  moe.gated = dense.gated;
  moe.activation = dense.activation;
  moe.router_bias = c.flag_or({"router_bias"}, false);
  return t5_model(c, moe);
}

}  // namespace orrery
