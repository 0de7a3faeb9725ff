// Mamba-2 mixer (arXiv:2405.21060; Nemotron-H). State per sequence: heads matrices head_dim x
// state, and the last conv-1 inputs of the convolution over x, B and C.
//
// Ranks divide the heads and the groups of B and C. A group is copied where there are fewer groups
// than ranks (extra_groups_for_head_shards in mamba_mixer2.py of vLLM; Megatron-Core's
// mamba_mixer.py refuses such a tp).
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

struct Mamba2 {
  static constexpr std::string_view kKind = "linear";

  int heads = 0;
  int head_dim = 0;
  int state = 0;   // d_state
  int groups = 0;  // B and C are shared by heads/groups heads
  int conv = 0;    // width of the depthwise convolution
  bool conv_bias = false;
  int chunk = 128;  // tokens that a prefill kernel computes at once
  bool operator==(const Mamba2&) const = default;

  constexpr Width inner() const { return divided(std::int64_t{heads} * head_dim); }
  // B and C.
  constexpr Width group_inputs() const { return grouped(groups, std::int64_t{2} * state); }
  // Channels of the convolution: x, B and C.
  constexpr Width channels() const { return inner() + group_inputs(); }
  // z, x, B, C and dt, which one product makes.
  constexpr Width projected() const { return inner() + channels() + divided(heads); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    constexpr std::string_view kModules = "mixer mamba";
    w.matrix(LayerMatrix{"in", projected(), whole(hidden)}.in(kModules).named("in_proj"));
    w.matrix(LayerMatrix{"out", whole(hidden), inner()}.in(kModules).named("out_proj"));
    w.vector({"conv", (conv + (conv_bias ? 1 : 0)) * channels()});
    w.vector({"decay", divided(std::int64_t{3} * heads)});  // A, D, dt's bias
    w.vector({"norm", inner()});
  }

  KeptState kept() const {
    KeptState k;
    k.recurrent = state * inner();
    k.convolution = (conv - 1) * channels();
    return k;
  }

  constexpr void divide(TensorRules& rules) const {
    rules.divides(heads, "Mamba-2 heads");
    rules.divides_groups(groups, "Mamba-2 groups");
  }

  constexpr Width buffers() const { return 3 * inner() + group_inputs(); }

  template <class Saved>
  void save(Saved& s) const {
    s.input({});
    // The backward pass computes the scan again (Dao and Gu 2024).
    s.tensor(1, projected() + inner());
    s.operand(inner(), {}, SavedRows::kAll);
    s.gradients(projected());
    s.recomputed(0.5, projected());
    s.recomputed(1, inner());
  }

  std::string label() const { return "mamba"; }
  LayerFacts facts() const {
    return {.text = fmt::format("Mamba-2 ({} heads of {}, state {})", heads, head_dim, state),
            .kind = "Mamba-2"};
  }
};

}  // namespace orrery
