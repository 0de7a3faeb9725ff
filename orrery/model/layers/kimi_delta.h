// Kimi Delta Attention (KDA: Kimi Linear, arXiv:2510.26692; Kimi-K3): a delta rule whose decay has
// a value of its own for every channel of a head. State per sequence: `heads` matrices head_dim x
// head_dim, and the last conv-1 inputs of the convolutions over q, k and v.
//
// Ranks divide the heads. Every rank holds the first halves of low-rank gates, which all heads
// share (in_proj_qkvgfab in kimi_k3/nvidia/kda.py of vLLM; kimi_linear.py of SGLang).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "orrery/model/layers/kept_state.h"
#include "orrery/model/layers/layer_facts.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/saved_tensors.h"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

struct KimiDelta {
  static constexpr std::string_view kKind = "linear";

  int heads = 0;
  int head_dim = 0;
  int conv = 0;                 // width of the depthwise convolutions
  bool full_rank_gate = false;  // the output gate is one matrix, not two of low rank
  bool operator==(const KimiDelta&) const = default;

  // Queries, keys, values, decays, the output and its gate are as wide.
  constexpr Width width() const { return divided(std::int64_t{heads} * head_dim); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    const Width row = whole(hidden), low_rank = whole(head_dim);
    w.matrix(LayerMatrix{"q", width(), row}.named("q_proj").adapted("q"));
    w.matrix(LayerMatrix{"k", width(), row}.named("k_proj").adapted("k"));
    w.matrix(LayerMatrix{"v", width(), row}.named("v_proj").adapted("v"));
    w.matrix(LayerMatrix{"f_a", low_rank, row}.named("f_a_proj"));
    w.matrix(LayerMatrix{"f_b", width(), low_rank}.named("f_b_proj").biased());
    w.matrix(LayerMatrix{"b", divided(heads), row}.named("b_proj").plain());
    if (full_rank_gate) {
      w.matrix(LayerMatrix{"g", width(), row}.named("g_proj"));
    } else {
      w.matrix(LayerMatrix{"g_a", low_rank, row}.named("g_a_proj"));
      w.matrix(LayerMatrix{"g_b", width(), low_rank}.named("g_b_proj"));
    }
    w.matrix(LayerMatrix{"o", row, width()}.named("o_proj").adapted("o"));
    w.vector({"conv", std::int64_t{3} * conv * width()});
    w.vector({"decay", divided(heads)});
    w.vector({"norm", low_rank});
  }

  KeptState kept() const {
    KeptState k;
    k.recurrent = head_dim * width();
    k.convolution = (conv - 1) * (3 * width());
    return k;
  }
  // Multiply-adds of a token with the state: read by key, update, read by query.
  double state_products() const { return 3.0 * heads * head_dim * head_dim; }

  constexpr void divide(TensorRules& rules) const {
    rules.divides(heads, "linear attention heads");
  }

  constexpr Width buffers() const { return 6 * width(); }

  template <class Saved>
  void save(Saved& s) const {
    s.input({"q", "k", "v"});
    // The first halves of low-rank gates; inputs and outputs of the convolution; the decay of every
    // channel and beta in fp32; two matrices for each chunk of tokens; the output and its gate.
    s.tensor(full_rank_gate ? 1 : 2, whole(head_dim));
    s.tensor(2, 3 * width());
    s.tensor_fp32(width() + divided(heads));
    s.tensor(2 * kDeltaChunk, divided(heads));
    s.tensor(2, width());
    s.operand(width(), {"o"}, SavedRows::kAll);
    s.gradients(4 * width());
    s.recomputed(2, width());
  }

  std::string label() const { return "kda"; }
  LayerFacts facts() const {
    return {.text = fmt::format("Kimi delta rule ({} heads of {} x {})", heads, head_dim, head_dim),
            .kind = "linear attention (Kimi delta)"};
  }
};

}  // namespace orrery
