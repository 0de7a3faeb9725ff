// Models of classes that no reader knows, by their fields: a decoder of one kind of attention with
// RMS norms and gated MLPs or experts, whose config uses the names that most families share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

const Key kExpertKeys = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
                         "num_routed_experts"};
const Key kTopKKeys = {"num_experts_per_tok", "num_experts_per_token",
                       "experts_per_token",   "moe_topk",
                       "moe_top_k",           "moe_k",
                       "top_k_experts"};
const Key kExpertSizeKeys = {"moe_intermediate_size", "expert_intermediate_size",
                             "moe_ffn_hidden_size", "intermediate_size"};

// ---- fields that were not read ------------------------------------------------------------------

// Parts of the names of fields without bearing on the work of a step, with spaces between: tokens,
// generation, initialisation, training losses, scales of values, versions and classes.
constexpr std::string_view kHarmless =
    "_token_id _token_index token_ids dropout _pdrop initializer init_std _version _eps "
    "epsilon rope_theta rope_scaling rope_parameters rope_type rope_interleave "
    "rope_local rope_base rope_freq rotary_pct rotary_dim rotary_base rotary_emb "
    "partial_rotary loss _coef softcapping embedding_multiplier residual_multiplier "
    "attention_multiplier logits_scaling scaling_factor attention_scale scale_emb "
    "scale_depth temperature penalty num_beam beam_groups top_p typical_p max_length "
    "min_length no_repeat num_return_sequences do_sample early_stopping use_cache "
    "use_return return_dict output_attentions output_hidden_states output_router_logits "
    "output_scores gradient_checkpointing pretraining_tp torch dtype auto_map id2label "
    "label2id num_labels problem_type finetuning_task tokenizer _name_or_path "
    "_implementation use_flash flash_attn pruned_heads prefix chunk_size_feed_forward "
    "ep_size seq_aux jitter query_pre_attn scoring_func score_func max_window_layers "
    "architectures model_type";

// Parts of the names of fields that change the work of a layer.
constexpr std::string_view kTelling =
    "expert layer window lora rank state conv ssm mamba head attention attn kv latent "
    "mlp ffn hidden dim size block chunk topk top_k shared moe router sparse index "
    "compress linear delta gate recurr mtp nextn depth stream residual pattern stride "
    "loop share reuse bias norm alibi group parallel encoder";

// Whether the name contains one of the parts, which have spaces between them.
bool contains_any(std::string_view name, std::string_view parts) {
  while (!parts.empty()) {
    const std::size_t space = std::min(parts.find(' '), parts.size());
    if (name.find(parts.substr(0, space)) != std::string_view::npos) return true;
    parts.remove_prefix(std::min(space + 1, parts.size()));
  }
  return false;
}

// Absent, switched off, or empty.
bool says_nothing(const Node& value) {
  if (value.is_null()) return true;
  if (value.is_list() || value.is_map()) return value.items().empty();
  return !value.quoted() && (value.text() == "false" || value.text() == "0");
}

// Texts name kernels, activations and the like; those of kinds of attention or blocks tell.
bool is_plain_text(std::string_view key, const Node& value) {
  if (!value.is_scalar() || !value.quoted()) return false;
  constexpr std::string_view kKinds =
      "attention_type attn_type block_type layer_type mixer pattern";
  constexpr std::array<std::string_view, 5> kFull = {"full", "full_attention", "softmax", "default",
                                                     "dense"};
  return !contains_any(key, kKinds) ||
         std::find(kFull.begin(), kFull.end(), value.text()) != kFull.end();
}

struct Unread {
  std::vector<std::string> telling, other;
};

Unread unread_fields(const HfConfig& c) {
  Unread out;
  const Node& map = c.text_model();
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string& key = map.keys()[i];
    const Node& value = map.items()[i];
    if (c.was_asked(key) || says_nothing(value) || contains_any(key, kHarmless)) continue;
    if (contains_any(key, kTelling) && !is_plain_text(key, value)) {
      out.telling.push_back(key);
    } else {
      out.other.push_back(key);
    }
  }
  return out;
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    some.push_back("'" + names[i].substr(0, 60) + "'");
  }
  if (names.size() > kMost) some.push_back(fmt::format("{} more", names.size() - kMost));
  return fmt::format("{}", fmt::join(some, ", "));
}

// ---- the parts ----------------------------------------------------------------------------------

// Required fields that are absent, by their usual names.
std::vector<std::string> missing_fields(const HfConfig& c) {
  std::vector<std::string> out;
  const auto require = [&](Key key) {
    if (!c.has(key)) out.emplace_back(*key.begin());
  };
  require({"hidden_size", "n_embd", "d_model"});
  require({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  require({"num_attention_heads", "n_head", "n_heads"});
  require({"vocab_size"});
  require(
      {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length"});
  require({"hidden_act", "hidden_activation"});
  if (!(c.has(kExpertKeys) && c.has(kExpertSizeKeys))) require({"intermediate_size"});
  require(
      {"rms_norm_eps", "norm_eps", "layer_norm_eps", "layernorm_epsilon", "layer_norm_epsilon"});
  if (c.has(kExpertKeys)) require(kTopKKeys);
  return out;
}

// All sizes of latent attention. Looking at them is not asking for them.
bool has_latent_sizes(const HfConfig& c) {
  constexpr std::array<std::string_view, 4> kSizes = {"kv_lora_rank", "qk_nope_head_dim",
                                                      "qk_rope_head_dim", "v_head_dim"};
  return std::all_of(kSizes.begin(), kSizes.end(), [&](std::string_view size) {
    const Node* node = c.text_model().find(size);
    return node != nullptr && !node->is_null();
  });
}

SoftmaxAttention attention_by_fields(const HfConfig& c, int hidden,
                                     std::vector<std::string>& assumed) {
  SoftmaxAttention a = read_attention(c, hidden);
  if (c.has({"v_head_dim"})) {
    a.value_dim = c.size({"v_head_dim"}, limit::kHeadDim);
  }
  const bool bias = c.flag_or({"attention_bias", "use_bias", "bias"}, false);
  const bool qkv = c.flag_or({"qkv_bias", "attention_qkv_bias", "use_qkv_bias"}, bias);
  set_bias(a, qkv, c.flag_or({"attention_out_bias", "o_bias"}, bias));
  if (!c.has({"attention_bias", "use_bias", "bias", "qkv_bias", "use_qkv_bias"})) {
    assumed.emplace_back("no biases of attention");
  }
  if (c.flag_or({"use_qk_norm", "qk_norm", "qk_layernorm"}, false)) {
    a.qk_norm = QkNorm::kPerHead;
    assumed.emplace_back("norms of queries and keys of one head's width");
  } else {
    assumed.emplace_back("no norms of queries and keys");
  }
  return a;
}

MoeMlp experts_by_fields(const HfConfig& c) {
  MoeMlp moe = make_moe(c, kExpertKeys, kTopKKeys, kExpertSizeKeys);
  moe.activation = read_activation(c, {"hidden_act", "hidden_activation"});
  moe.groups = c.size_or({"n_group"}, 1, limit::kExperts);
  moe.top_groups = c.size_or({"topk_group"}, 1, limit::kExperts);
  if (moe.top_groups > moe.groups || moe.experts % moe.groups != 0) {
    c.fail({"n_group"}, "expected groups that divide the experts, of which topk_group are chosen");
  }
  if (c.has({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"})) {
    moe.shared_intermediate =
        c.count_or({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"}, 0,
                   limit::kIntermediate);
    c.count_or({"n_shared_experts", "num_shared_experts"}, 0, 64);
  } else {
    set_shared_experts(c, moe);
  }
  const std::string method = c.text_or({"topk_method"}, "");
  moe.router_bias =
      method == "noaux_tc" ||
      c.flag_or({"moe_router_enable_expert_bias", "use_routing_bias", "router_bias"}, false);
  return moe;
}

// The layers with experts: those that a list marks, else from the first that is not dense, every
// so-many-th.
class ExpertLayers {
 public:
  ExpertLayers(const HfConfig& c, int layers)
      : dense_(c.count_or({"first_k_dense_replace", "num_dense_layers", "n_dense_layers"}, 0,
                          limit::kLayers)),
        phase_(c.has({"decoder_sparse_step"}) ? 1 : 0) {
    const Key frequency = {"moe_layer_freq", "decoder_sparse_step", "moe_layer_interval"};
    const Node* node = c.find(frequency);
    if (node != nullptr && node->is_list()) {
      marked_ = c.counts(frequency, 1);
      check_per_layer(c, frequency, marked_.size(), layers);
    } else {
      every_ = c.size_or(frequency, 1, limit::kLayers);
    }
    if (c.has({"mlp_only_layers"})) excluded_ = c.counts({"mlp_only_layers"}, limit::kLayers);
  }

  bool contains(int layer) const {
    if (!marked_.empty()) return marked_[static_cast<std::size_t>(layer)] == 1;
    return layer >= dense_ && (layer + phase_) % every_ == 0 &&
           std::find(excluded_.begin(), excluded_.end(), layer) == excluded_.end();
  }

 private:
  int dense_, phase_, every_ = 1;
  std::vector<int> marked_, excluded_;
};

void add_layers(const HfConfig& c, Architecture& m, SoftmaxAttention a) {
  const int layers = layer_count(c);
  const std::vector<bool> local = read_layer_types(c, layers, "sliding_attention");
  const bool windows = c.flag_or({"use_sliding_window"}, true);
  const int window = windows ? c.count_or({"sliding_window"}, 0, limit::kContext) : 0;
  if (windows && std::find(local.begin(), local.end(), true) != local.end() && window == 0) {
    c.fail({"sliding_window"}, "missing; layer_types has layers with a window");
  }
  const bool experts = c.has(kExpertKeys) && c.count_or(kExpertKeys, 0, limit::kExperts) > 0;
  const ExpertLayers with_experts(c, layers);
  LayerSpec layer;
  DenseMlp dense;
  for (int i = 0; i < layers; ++i) {
    a.window = local.empty() || local[static_cast<std::size_t>(i)] ? window : 0;
    layer.mixer = a;
    if (experts && with_experts.contains(i)) {
      layer.mlp = experts_by_fields(c);
    } else {
      dense = read_gated_mlp(c);
      dense.bias = c.flag_or({"mlp_bias"}, false);
      layer.mlp = dense;
    }
    m.layers.append(layer);
  }
  const int mtp =
      c.count_or({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
}

}  // namespace

Architecture read_by_fields(const HfConfig& c, const UnknownClass& unknown) {
  const std::vector<std::string> missing = missing_fields(c);
  if (!missing.empty()) {
    unknown.at.fail(
        fmt::format("{}, and its fields do not say enough to be read without a reader: "
                    "{} {} missing",
                    unknown.message, quoted(missing), missing.size() == 1 ? "is" : "are"));
  }
  if (c.flag_or({"is_encoder_decoder"}, false)) {
    unknown.at.fail(fmt::format("{}, and only decoders are read by their fields", unknown.message));
  }
  if (has_latent_sizes(c)) {
    Architecture m = read_deepseek_v3(c);
    c.find({"num_key_value_heads", "head_dim", "qk_head_dim"});  // follow from the others
    m.notes.emplace_back(
        unknown.message +
        "; read by its fields: latent attention and experts as in DeepSeek-V3 are assumed");
    return m;
  }
  std::vector<std::string> assumed;
  Architecture m = read_common(c);
  const bool rms = c.has({"rms_norm_eps", "norm_eps"});
  if (!rms) {
    m.norm = Norm::kLayer;
    assumed.emplace_back("layer norms with biases");
  } else {
    assumed.emplace_back("two RMS norms a layer");
  }
  assumed.emplace_back("gated MLPs");
  assumed.emplace_back("rotary embedding in every layer");
  if (!c.has({"tie_word_embeddings"})) assumed.emplace_back("an LM head of its own");
  add_layers(c, m, attention_by_fields(c, m.hidden, assumed));
  read_towers(c, m);
  m.notes.push_back(fmt::format(
      "{} has no reader of its own and was read by its fields, with softmax attention; assumed: {}",
      unknown.name, fmt::join(assumed, ", ")));
  return m;
}

void refuse_unread_fields(const HfConfig& c, const UnknownClass& unknown, Architecture& model) {
  const Unread unread = unread_fields(c);
  if (!unread.telling.empty()) {
    unknown.at.fail(fmt::format(
        "{}, and it has fields that may change the work of a layer and that are not known: {}",
        unknown.message, quoted(unread.telling)));
  }
  if (!unread.other.empty()) {
    model.notes.push_back(fmt::format("fields that were not read: {}", quoted(unread.other)));
  }
}

}  // namespace orrery
