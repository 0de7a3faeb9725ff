// Typed and checked access to the keys of one config.json, and the parts of an Architecture that
// many families read in the same way. Only the readers hf_*.cc of this room use it.
//
// Errors are InputErrors with the file, line and key.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

namespace limit {
inline constexpr int kHidden = 1 << 18;
inline constexpr int kIntermediate = 1 << 20;
inline constexpr int kVocab = 1 << 24;
inline constexpr int kLayers = 1024;
inline constexpr int kHeads = 4096;
inline constexpr int kHeadDim = 1 << 14;
inline constexpr int kExperts = 4096;
inline constexpr int kContext = 1 << 30;
}  // namespace limit

// All spellings of a key. The first one that is present counts; a null value counts as absent.
using Key = std::initializer_list<std::string_view>;

// The document, the map of its text model (text_config, llm_config, language_config,
// language_model_config or thinker_config), the map of that map's text model, and so on. InputError
// if one is no map.
std::vector<const Node*> text_maps(const Node& root);

class HfConfig {
 public:
  // Keys are looked up in the map of the text model, then in the map that holds it, and so on up to
  // the document itself.
  explicit HfConfig(const Node& root);

  // A config that remembers the keys that are looked up in it and in its copies.
  static HfConfig remembering(const Node& root);
  // Whether the key was looked up. REQUIRES a config that remembers.
  bool was_asked(std::string_view key) const { return asked_->contains(key); }
  // The map of the innermost text model.
  const Node& text_model() const { return *maps_.front(); }

  const Node* find(Key key) const;
  bool has(Key key) const { return find(key) != nullptr; }

  int size(Key key, int most) const;                    // required, 1..most
  int size_or(Key key, int fallback, int most) const;   // 1..most
  int count_or(Key key, int fallback, int most) const;  // 0..most
  bool flag_or(Key key, bool fallback) const;
  std::string text_or(Key key, std::string_view fallback) const;
  std::vector<int> counts(Key key, int most) const;  // a required list of 0..most
  std::vector<std::string> texts(Key key) const;     // a required list

  // InputError at the key, or at the document if it is absent.
  [[noreturn]] void fail(Key key, std::string_view message) const;
  // fail() unless the value is `wanted`: for switches of the architecture that are not modelled.
  void require_flag(Key key, bool wanted, bool fallback) const;

 private:
  std::vector<const Node*> maps_;  // the innermost first
  // The keys that were looked up; null: nobody wants to know.
  std::shared_ptr<std::set<std::string, std::less<>>> asked_;
};

// ---- shared by the families ---------------------------------------------------------------------

// The values of a family whose configs leave a key out. A value of 0 means that the key is
// required.
struct Defaults {
  bool tied = false;
  int context = 0;
  int vocab = 0;
};

// An Architecture with the hidden size, vocabulary, context, tied embeddings and dtype (absent:
// bf16).
Architecture read_common(const HfConfig& c, const Defaults& defaults = {});

int layer_count(const HfConfig& c);

// Attention of num_attention_heads, num_key_value_heads (absent: as many as heads) and head_dim
// (absent: hidden / heads).
SoftmaxAttention read_attention(const HfConfig& c, int hidden);
SoftmaxAttention make_attention(const HfConfig& c, int heads, int kv_heads, int head_dim);
int divided_head_dim(const HfConfig& c, int hidden, int heads);
void set_bias(SoftmaxAttention& a, bool qkv, bool o);

// A gated MLP of intermediate_size and hidden_act (or hidden_activation). `activation` is used
// where configs leave hidden_act out.
DenseMlp read_gated_mlp(const HfConfig& c, std::string_view activation = "");
Activation read_activation(const HfConfig& c, Key key, std::string_view fallback = "");

// Routed experts, of which top_k serve a token. InputError if top_k exceeds the experts.
MoeMlp make_moe(const HfConfig& c, Key experts, Key top_k, Key intermediate);
// Sets n_shared_experts (num_shared_experts) shared experts of the size of a routed one.
void set_shared_experts(const HfConfig& c, MoeMlp& moe);

// One entry for each layer of layer_types: true for `kind`, false for full_attention. InputError
// for other types. Empty if the key is absent.
std::vector<bool> read_layer_types(const HfConfig& c, int layers, std::string_view kind);

// fail() unless the list has one entry a layer.
void check_per_layer(const HfConfig& c, Key key, std::size_t entries, int layers);

// The quantisation of the model, whose layers have been read (checkpoint/quantization.h).
CheckpointQuantization read_quantization(const HfConfig& c, const Architecture& model);

}  // namespace orrery
