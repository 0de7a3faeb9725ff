// Gated DeltaNet linear attention (Qwen 3-Next, Qwen 3.5; arXiv:2412.06464). State per sequence:
// v_heads matrices k_dim x v_dim, and the last conv-1 inputs of the convolution over q, k and v.
//
// Ranks divide the heads (qwen3_next.py of vLLM; gated_delta_net of Megatron-Core).
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

struct GatedDeltaNet {
  static constexpr std::string_view kKind = "linear";

  int k_heads = 0;
  int k_dim = 0;
  int v_heads = 0;
  int v_dim = 0;
  int conv = 0;  // width of the depthwise convolution
  bool operator==(const GatedDeltaNet&) const = default;

  constexpr Width keys() const { return divided(std::int64_t{k_heads} * k_dim); }
  constexpr Width values() const { return divided(std::int64_t{v_heads} * v_dim); }
  // Channels of the convolution: queries, keys and values.
  constexpr Width channels() const { return 2 * keys() + values(); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    constexpr std::string_view kModule = "linear_attn";
    const Width row = whole(hidden);
    w.matrix(LayerMatrix{"qkv", channels(), row}.in(kModule).named("in_proj_qkv in_proj_qkvz"));
    w.matrix(LayerMatrix{"z", values(), row}.in(kModule).named("in_proj_z in_proj_qkvz"));
    w.matrix(LayerMatrix{"b", divided(v_heads), row}.in(kModule).named("in_proj_b").plain());
    w.matrix(LayerMatrix{"a", divided(v_heads), row}.in(kModule).named("in_proj_a").plain());
    w.matrix(LayerMatrix{"out", row, values()}.in(kModule).named("out_proj"));
    w.vector({"conv", conv * channels()});
    w.vector({"decay", divided(std::int64_t{2} * v_heads)});  // A and dt's bias
    w.vector({"norm", whole(v_dim)});
  }

  KeptState kept() const {
    KeptState k;
    k.recurrent = k_dim * values();
    k.convolution = (conv - 1) * channels();
    return k;
  }

  constexpr void divide(TensorRules& rules) const {
    rules.divides(k_heads, "linear attention key heads");
    rules.divides(v_heads, "linear attention value heads");
  }

  constexpr Width buffers() const { return 2 * keys() + 3 * values(); }

  template <class Saved>
  void save(Saved& s) const {
    s.input({});
    // Inputs and outputs of the convolution; gates; a matrix for each chunk of tokens; the output,
    // its gate and the normed output.
    s.tensor(2, channels());
    s.tensor_fp32(divided(std::int64_t{2} * v_heads));
    s.tensor(kDeltaChunk, divided(v_heads));
    s.tensor(2, values());
    s.operand(values(), {}, SavedRows::kAll);
    s.gradients(2 * keys() + 2 * values());
    s.recomputed(1, keys() + values());
  }

  std::string label() const { return "delta"; }
  LayerFacts facts() const {
    return {.text = fmt::format("gated delta rule ({} heads of {} x {})", v_heads, k_dim, v_dim),
            .kind = "linear attention (gated delta rule)"};
  }
};

}  // namespace orrery
