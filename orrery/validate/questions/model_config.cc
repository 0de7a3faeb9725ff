#include "orrery/validate/questions/model_config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// The sizes of a model with one kind of layer.
struct Sizes {
  const Architecture& model;
  const SoftmaxAttention& attention;
  const DenseMlp& mlp;
};

Json gpt2(const Sizes& s) {
  return {
      {"model_type", "gpt2"},
      {"n_embd", s.model.hidden},
      {"n_layer", s.model.layers.size()},
      {"n_head", s.attention.heads},
      {"n_inner", s.mlp.intermediate},
      {"n_positions", s.model.position_rows},
      {"activation_function", s.mlp.activation == Activation::kWrittenGelu ? "gelu_new" : "gelu"},
      {"vocab_size", s.model.vocab},
      {"tie_word_embeddings", s.model.tied_embeddings}};
}

Json bloom(const Sizes& s) {
  return {{"model_type", "bloom"},
          {"n_embd", s.model.hidden},
          {"n_layer", s.model.layers.size()},
          {"n_head", s.attention.heads},
          {"n_inner", s.mlp.intermediate},
          {"vocab_size", s.model.vocab},
          {"tie_word_embeddings", s.model.tied_embeddings}};
}

// Megatron's GPT without a table of positions.
Json falcon(const Sizes& s) {
  return {{"model_type", "falcon"},
          {"hidden_size", s.model.hidden},
          {"num_hidden_layers", s.model.layers.size()},
          {"num_attention_heads", s.attention.heads},
          {"ffn_hidden_size", s.mlp.intermediate},
          {"alibi", true},
          {"bias", true},
          {"multi_query", false},
          {"parallel_attn", false},
          {"vocab_size", s.model.vocab},
          {"tie_word_embeddings", s.model.tied_embeddings}};
}

Json mpt(const Sizes& s) {
  return {{"model_type", "mpt"},
          {"d_model", s.model.hidden},
          {"n_layers", s.model.layers.size()},
          {"n_heads", s.attention.heads},
          {"expansion_ratio", s.mlp.intermediate / s.model.hidden},
          {"max_seq_len", s.model.max_context},
          {"attn_config", Json::object({{"alibi", true}})},
          {"no_bias", true},
          {"vocab_size", s.model.vocab},
          {"tie_word_embeddings", s.model.tied_embeddings}};
}

Json like_llama(const Sizes& s, const char* family, const char* bias) {
  return {{"model_type", family},
          {"hidden_size", s.model.hidden},
          {"intermediate_size", s.mlp.intermediate},
          {"num_hidden_layers", s.model.layers.size()},
          {"num_attention_heads", s.attention.heads},
          {"num_key_value_heads", s.attention.kv_heads},
          {"head_dim", s.attention.head_dim},
          {"hidden_act", "silu"},
          {"vocab_size", s.model.vocab},
          {"max_position_embeddings", s.model.max_context},
          {"tie_word_embeddings", s.model.tied_embeddings},
          {bias, s.attention.q_bias}};
}
Json internlm(const Sizes& s) { return like_llama(s, "internlm", "bias"); }
Json llama(const Sizes& s) { return like_llama(s, "llama", "attention_bias"); }

constexpr std::array kWriters = {gpt2, bloom, falcon, mpt, llama, internlm};

// Grok, whose layers are those of Mixtral.
Json mixtral(const Architecture& model, const SoftmaxAttention& attention, const MoeMlp& mlp) {
  return {{"model_type", "mixtral"},
          {"hidden_size", model.hidden},
          {"intermediate_size", mlp.intermediate},
          {"num_hidden_layers", model.layers.size()},
          {"num_attention_heads", attention.heads},
          {"num_key_value_heads", attention.kv_heads},
          {"head_dim", attention.head_dim},
          {"hidden_act", "silu"},
          {"vocab_size", model.vocab},
          {"max_position_embeddings", model.max_context},
          {"tie_word_embeddings", model.tied_embeddings},
          {"num_local_experts", mlp.experts},
          {"num_experts_per_tok", mlp.top_k}};
}

// The layers without what takes no time and no memory: whether the weights of experts are
// normalised.
std::vector<LayerSpec> layers_of(const LayerStack& stack) {
  std::vector<LayerSpec> specs = stack.specs();
  for (LayerSpec& layer : specs) {
    if (auto* experts = std::get_if<MoeMlp>(&layer.mlp)) experts->norm_topk = false;
  }
  return specs;
}

bool same_layers(const LayerStack& a, const LayerStack& b) {
  return layers_of(a) == layers_of(b) && a.runs() == b.runs();
}

// The ways to know a place that have weights of their own; the others are one.
Position weighed(Position position) {
  return position == Position::kLearned || position == Position::kRelative ? position
                                                                           : Position::kNone;
}

std::optional<std::string> read_as(const Architecture& model, const Json& config) {
  std::string text = config.dump();
  try {
    if (same_model(load_model(text), model)) return text;
  } catch (const InputError&) {  // sizes that the family does not have
  }
  return std::nullopt;
}

}  // namespace

bool same_model(const Architecture& a, const Architecture& b) {
  return a.kind == b.kind && a.hidden == b.hidden && a.vocab == b.vocab &&
         a.tied_embeddings == b.tied_embeddings && a.lm_head == b.lm_head &&
         a.lm_head_bias == b.lm_head_bias && a.lm_head_transform == b.lm_head_transform &&
         a.pooler == b.pooler && weighed(a.position) == weighed(b.position) &&
         a.position_rows == b.position_rows && a.relative_buckets == b.relative_buckets &&
         a.token_types == b.token_types && a.embedding_norm == b.embedding_norm &&
         a.final_norm == b.final_norm && a.norm == b.norm && same_layers(a.layers, b.layers) &&
         same_layers(a.encoder, b.encoder) && a.towers == b.towers &&
         a.per_layer_vocab == b.per_layer_vocab;
}

std::optional<std::string> model_config(const Architecture& model) {
  if (model.layers.specs().size() != 1) return std::nullopt;
  const LayerSpec& layer = model.layers.specs().front();
  const auto* attention = std::get_if<SoftmaxAttention>(&layer.mixer);
  if (!attention) return std::nullopt;
  if (const auto* experts = std::get_if<MoeMlp>(&layer.mlp))
    return read_as(model, mixtral(model, *attention, *experts));
  const auto* mlp = std::get_if<DenseMlp>(&layer.mlp);
  if (!mlp) return std::nullopt;
  for (const auto& family : kWriters) {
    if (auto text = read_as(model, family({model, *attention, *mlp}))) return text;
  }
  return std::nullopt;
}

}  // namespace orrery
