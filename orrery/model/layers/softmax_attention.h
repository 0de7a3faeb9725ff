// Softmax attention: MHA (kv_heads == heads), GQA, MQA (kv_heads == 1), with sliding and chunked
// windows, gated outputs, layers that read the cache of another layer, and chosen blocks of keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/model/layers/kept_state.h"
#include "orrery/model/layers/layer_facts.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/layer_work.h"
#include "orrery/model/layers/saved_tensors.h"
#include "orrery/model/layers/tensor_rules.h"

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
struct BlockSelection {
  int block = 0;       // tokens of a block
  int top_blocks = 0;  // blocks that a query reads, its own included
  int index_heads = 0;
  int index_dim = 0;
  bool operator==(const BlockSelection&) const = default;
};

struct SoftmaxAttention {
  static constexpr std::string_view kKind = "softmax";

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

  constexpr Width queries() const { return divided(std::int64_t{heads} * head_dim); }
  constexpr Width keys() const { return grouped(kv_heads, head_dim); }
  constexpr Width values() const { return grouped(kv_heads, value_dim); }
  constexpr Width result() const { return divided(std::int64_t{heads} * value_dim); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    const Width row = whole(hidden);
    w.matrix(LayerMatrix{"q", queries() + (output_gate ? result() : Width{}), row}
                 .named("q_proj qkv_proj query_key_value c_attn wq Wqkv W_pack")
                 .adapted("q")
                 .biased(q_bias));
    if (!shares_kv)
      w.matrix(LayerMatrix{"k", keys(), row}
                   .named("k_proj qkv_proj query_key_value c_attn wk")
                   .adapted("k")
                   .biased(k_bias));
    if (!shares_kv && !values_from_keys)
      w.matrix(LayerMatrix{"v", values(), row}
                   .named("v_proj qkv_proj query_key_value c_attn wv")
                   .adapted("v")
                   .biased(v_bias));
    w.matrix(LayerMatrix{"o", row, result()}
                 .named("o_proj out_proj dense c_proj wo")
                 .adapted("o")
                 .biased(o_bias));
    if (head_gate) w.matrix(LayerMatrix{"gate", divided(heads), row}.named("g_proj").plain());
    if (blocks) declare_index(w, hidden);
    const bool per_head = qk_norm == QkNorm::kPerHead;
    if (per_head || qk_norm == QkNorm::kFull)
      w.vector({"q_norm", per_head ? whole(head_dim) : queries()});
    if ((per_head || qk_norm == QkNorm::kFull) && !shares_kv)
      w.vector({"k_norm", per_head ? whole(head_dim) : keys()});
    if (sinks) w.vector({"sinks", divided(heads)});
  }

  KeptState kept() const;
  AttentionWidths attention() const { return {queries() + result(), keys() + values()}; }
  DecodeWidths decode() const;

  constexpr void divide(TensorRules& rules) const {
    rules.divides(heads, "attention heads");
    rules.divides_groups(kv_heads, "key-value heads");
  }

  // Elements for each token in the buffers of an inference step.
  constexpr Width buffers() const {
    return queries() + (output_gate ? 2 : 1) * result() + (shares_kv ? Width{} : keys() + values());
  }

  template <class Saved>
  void save(Saved& s) const {
    const Width kv = shares_kv ? Width{} : s.keys(keys() + values(), divided(heads_of_both()));
    s.input({"q", "k", "v"});
    if (qk_norm != QkNorm::kNone)
      s.norm(queries() + (shares_kv ? Width{} : keys()), SavedRows::kAll);
    s.tensor(1, queries() + kv);
    if (output_gate) s.tensor(2, result());  // the gate, and the output before it
    if (head_gate) s.tensor(1, divided(heads) + result());
    s.attention(divided(heads), result());
    s.gradients(queries() + kv);
    s.recomputed(0.5, queries() + kv);
    s.recomputed(1, result());
  }

  // A part whose backward pass has no ops; empty: there is none.
  constexpr std::string_view untrained() const {
    return blocks ? "attention to chosen blocks" : "";
  }

  std::string label() const;
  LayerFacts facts() const;

 private:
  // Elements of keys and values with a copy for each query head.
  constexpr std::int64_t heads_of_both() const {
    return std::int64_t{heads} * (head_dim + value_dim);
  }

  // Index heads are divided as the KV heads that they serve; every rank has the index key.
  template <class Weights>
  constexpr void declare_index(Weights& w, std::int64_t hidden) const {
    w.matrix(LayerMatrix{"index_q", grouped(blocks->index_heads, blocks->index_dim), whole(hidden)}
                 .of_indexer()
                 .named("q_proj index_q_proj"));
    w.matrix(LayerMatrix{"index_k", whole(blocks->index_dim), whole(hidden)}.of_indexer().named(
        "k_proj index_k_proj"));
    w.vector({"index_n", whole(std::int64_t{2} * blocks->index_dim)});
  }
};

}  // namespace orrery
