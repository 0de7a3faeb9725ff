#include "orrery/model/families/hf_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace orrery {
namespace {

int checked(const Node& node, int least, int most) {
  const std::int64_t v = node.as_int();
  if (v < least || v > most) {
    node.fail(fmt::format("expected a whole number from {} to {}, got {}", least, most, v));
  }
  return static_cast<int>(v);
}

std::string_view first(Key key) { return *key.begin(); }

}  // namespace

std::vector<const Node*> text_maps(const Node& root) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "text_config", "llm_config", "language_config", "language_model_config", "thinker_config"};
  std::vector<const Node*> maps = {&root};
  for (const Node* inner = &root; inner != nullptr;) {
    const Node* outer = std::exchange(inner, nullptr);
    for (const std::string_view name : kNames) {
      const Node* text = outer->find(name);
      if (text == nullptr || text->is_null()) continue;
      if (!text->is_map()) text->fail("expected a map with the keys of the text model");
      maps.push_back(text);
      inner = text;
      break;
    }
  }
  return maps;
}

HfConfig::HfConfig(const Node& root) : maps_(text_maps(root)) {
  std::reverse(maps_.begin(), maps_.end());
}

HfConfig HfConfig::remembering(const Node& root) {
  HfConfig c(root);
  c.asked_ = std::make_shared<std::set<std::string, std::less<>>>();
  return c;
}

const Node* HfConfig::find(Key key) const {
  if (asked_) {
    for (const std::string_view name : key) asked_->emplace(name);
  }
  for (const Node* map : maps_) {
    for (const std::string_view name : key) {
      const Node* node = map->find(name);
      if (node != nullptr && !node->is_null()) return node;
    }
  }
  return nullptr;
}

int HfConfig::size(Key key, int most) const {
  const Node* node = find(key);
  if (node == nullptr) fail(key, "missing; expected a whole number");
  return checked(*node, 1, most);
}

int HfConfig::size_or(Key key, int fallback, int most) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : checked(*node, 1, most);
}

int HfConfig::count_or(Key key, int fallback, int most) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : checked(*node, 0, most);
}

bool HfConfig::flag_or(Key key, bool fallback) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : node->as_bool();
}

std::string HfConfig::text_or(Key key, std::string_view fallback) const {
  const Node* node = find(key);
  return node == nullptr ? std::string(fallback) : node->as_string();
}

std::vector<int> HfConfig::counts(Key key, int most) const {
  const Node* node = find(key);
  if (node == nullptr || !node->is_list()) fail(key, "expected a list of whole numbers");
  std::vector<int> out;
  for (const Node& item : node->items()) out.push_back(checked(item, 0, most));
  return out;
}

std::vector<std::string> HfConfig::texts(Key key) const {
  const Node* node = find(key);
  if (node == nullptr || !node->is_list()) fail(key, "expected a list of texts");
  std::vector<std::string> out;
  for (const Node& item : node->items()) out.push_back(item.as_string());
  return out;
}

void HfConfig::fail(Key key, std::string_view message) const {
  if (const Node* node = find(key)) node->fail(message);
  maps_.front()->fail(fmt::format("{}: {}", first(key), message));
}

void HfConfig::require_flag(Key key, bool wanted, bool fallback) const {
  if (flag_or(key, fallback) != wanted) {
    fail(key, fmt::format("only {} is supported for this architecture", wanted));
  }
}

Architecture read_common(const HfConfig& c, const Defaults& defaults) {
  const auto size = [&c](Key key, int fallback, int most) {
    return fallback > 0 ? c.size_or(key, fallback, most) : c.size(key, most);
  };
  Architecture m;
  m.hidden = c.size({"hidden_size", "n_embd", "d_model", "n_embed"}, limit::kHidden);
  m.vocab = size({"vocab_size"}, defaults.vocab, limit::kVocab);
  m.max_context = size(
      {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length"},
      defaults.context, limit::kContext);
  m.tied_embeddings = c.flag_or({"tie_word_embeddings"}, defaults.tied);
  if (const Node* node = c.find({"torch_dtype", "dtype"})) {
    const std::optional<Dtype> dtype = parse_dtype(node->as_string());
    if (dtype != Dtype::kBf16 && dtype != Dtype::kFp16 && dtype != Dtype::kFp32) {
      node->fail(fmt::format("expected float32, float16 or bfloat16, got '{}'", node->text()));
    }
    m.dtype = *dtype;
  }
  return m;
}

int layer_count(const HfConfig& c) {
  return c.size({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, limit::kLayers);
}

int divided_head_dim(const HfConfig& c, int hidden, int heads) {
  if (hidden % heads != 0) {
    c.fail({"num_attention_heads", "n_head", "n_heads", "num_heads"},
           fmt::format("{} heads do not divide the hidden size {}, and no head_dim is given", heads,
                       hidden));
  }
  return hidden / heads;
}

SoftmaxAttention make_attention(const HfConfig& c, int heads, int kv_heads, int head_dim) {
  if (heads % kv_heads != 0) {
    c.fail({"num_key_value_heads", "num_kv_heads", "n_head_kv", "num_key_value_heads_per_layer"},
           fmt::format("{} KV heads do not divide the {} attention heads", kv_heads, heads));
  }
  SoftmaxAttention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  a.value_dim = head_dim;
  return a;
}

SoftmaxAttention read_attention(const HfConfig& c, int hidden) {
  const int heads = c.size({"num_attention_heads", "n_head", "n_heads"}, limit::kHeads);
  const int kv_heads = c.size_or({"num_key_value_heads"}, heads, limit::kHeads);
  const int head_dim = c.has({"head_dim"}) ? c.size({"head_dim"}, limit::kHeadDim)
                                           : divided_head_dim(c, hidden, heads);
  return make_attention(c, heads, kv_heads, head_dim);
}

void set_bias(SoftmaxAttention& a, bool qkv, bool o) {
  a.q_bias = a.k_bias = a.v_bias = qkv;
  a.o_bias = o;
}

Activation read_activation(const HfConfig& c, Key key, std::string_view fallback) {
  struct Name {
    std::string_view text;
    Activation value;
  };
  static constexpr std::array kNames = {
      Name{"silu", Activation::kSilu},
      Name{"swish", Activation::kSilu},
      // Bounded forms of SiLU in gated MLPs (MiniMax-M3, Kimi-K3): the same reads and writes.
      Name{"swigluoai", Activation::kSilu},
      Name{"situ", Activation::kSilu},
      Name{"gelu", Activation::kGelu},
      Name{"gelu_new", Activation::kWrittenGelu},
      Name{"gelu_fast", Activation::kGelu},
      Name{"gelu_pytorch_tanh", Activation::kGelu},
      Name{"relu", Activation::kRelu},
      Name{"relu2", Activation::kRelu2},
  };
  const std::string text = c.text_or(key, fallback);
  for (const Name& n : kNames) {
    if (n.text == text) return n.value;
  }
  c.fail(key,
         fmt::format("expected an activation such as silu, gelu, relu or relu2, got '{}'", text));
}

DenseMlp read_gated_mlp(const HfConfig& c, std::string_view activation) {
  DenseMlp mlp;
  mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
  mlp.gated = true;
  mlp.activation = read_activation(c, {"hidden_act", "hidden_activation"}, activation);
  return mlp;
}

MoeMlp make_moe(const HfConfig& c, Key experts, Key top_k, Key intermediate) {
  MoeMlp moe;
  moe.experts = c.size(experts, limit::kExperts);
  moe.top_k = c.size(top_k, limit::kExperts);
  moe.intermediate = c.size(intermediate, limit::kIntermediate);
  if (moe.top_k > moe.experts) {
    c.fail(top_k, fmt::format("{} experts per token, but there are only {} ({})", moe.top_k,
                              moe.experts, first(experts)));
  }
  moe.norm_topk = c.flag_or({"norm_topk_prob"}, false);
  return moe;
}

void set_shared_experts(const HfConfig& c, MoeMlp& moe) {
  const int shared = c.count_or({"n_shared_experts", "num_shared_experts"}, 0, 64);
  if (shared > 0 && moe.intermediate > limit::kIntermediate / shared) {
    c.fail({"n_shared_experts"}, "the shared experts together are too large");
  }
  moe.shared_intermediate = shared * moe.intermediate;
}

std::vector<bool> read_layer_types(const HfConfig& c, int layers, std::string_view kind) {
  if (!c.has({"layer_types"})) return {};
  std::vector<bool> out;
  for (const std::string& type : c.texts({"layer_types"})) {
    if (type != kind && type != "full_attention") {
      c.fail({"layer_types"}, fmt::format("expected {} or full_attention, got '{}'", kind, type));
    }
    out.push_back(type == kind);
  }
  check_per_layer(c, {"layer_types"}, out.size(), layers);
  return out;
}

void check_per_layer(const HfConfig& c, Key key, std::size_t entries, int layers) {
  if (entries != static_cast<std::size_t>(layers)) {
    c.fail(key, fmt::format("{} entries for {} layers (num_hidden_layers)", entries, layers));
  }
}

}  // namespace orrery
