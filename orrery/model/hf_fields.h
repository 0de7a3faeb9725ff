// Typed, checked access to the keys of one config.json; for the readers hf_*.cc of this room only.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/model/architecture.h"

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

// A key is given by all its spellings; the first that is present counts. A null value counts as
// absent.
using Key = std::initializer_list<std::string_view>;

class HfConfig {
 public:
  // Looks into `text_config` first where there is one, then into the document itself.
  explicit HfConfig(const Node& root);

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
  const Node* text_ = nullptr;
  const Node* root_;
};

// ---- shared by the families ---------------------------------------------------------------------

// What a family means where its configs do not say; 0: they always say.
struct Defaults {
  bool tied = false;
  int context = 0;
  int vocab = 0;
};

// Hidden, vocabulary, context, tied embeddings, dtype (absent: bf16) and quantisation.
Architecture read_common(const HfConfig& c, const Defaults& defaults = {});

int layer_count(const HfConfig& c);

// num_attention_heads, num_key_value_heads (absent: as many) and head_dim (absent: hidden / heads).
SoftmaxAttention read_attention(const HfConfig& c, int hidden);
SoftmaxAttention make_attention(const HfConfig& c, int heads, int kv_heads, int head_dim);
int divided_head_dim(const HfConfig& c, int hidden, int heads);
void set_bias(SoftmaxAttention& a, bool qkv, bool o);

// intermediate_size and hidden_act (or hidden_activation). The fallback is for families whose
// configs omit it.
DenseMlp read_gated_mlp(const HfConfig& c, std::string_view activation = "");
Activation read_activation(const HfConfig& c, Key key, std::string_view fallback = "");

// Experts of which top_k are chosen; checks top_k <= experts.
MoeMlp make_moe(const HfConfig& c, Key experts, Key top_k, Key intermediate);
// n_shared_experts of the size of a routed one.
void set_shared_experts(const HfConfig& c, MoeMlp& moe);

// layer_types: true where it says `kind`, false where it says full_attention; nothing else is
// accepted. One entry a layer, or empty if the key is absent.
std::vector<bool> read_layer_types(const HfConfig& c, int layers, std::string_view kind);

// fail() unless the list has one entry a layer.
void check_per_layer(const HfConfig& c, Key key, std::size_t entries, int layers);

CheckpointQuantization read_quantization(const HfConfig& c);

}  // namespace orrery
