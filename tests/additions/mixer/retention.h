// Multi-scale retention (RetNet, arXiv:2307.08621): linear attention with a fixed decay for each
// head. State per sequence: `heads` matrices key_dim x value_dim.
//
// Ranks divide the heads.
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

struct Retention {
  static constexpr std::string_view kKind = "linear";

  int heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  bool operator==(const Retention&) const = default;

  constexpr Width keys() const { return divided(std::int64_t{heads} * key_dim); }
  constexpr Width values() const { return divided(std::int64_t{heads} * value_dim); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    const Width row = whole(hidden);
    w.matrix(LayerMatrix{"q", keys(), row}.named("q_proj").adapted("q"));
    w.matrix(LayerMatrix{"k", keys(), row}.named("k_proj").adapted("k"));
    w.matrix(LayerMatrix{"v", values(), row}.named("v_proj").adapted("v"));
    w.matrix(LayerMatrix{"g", values(), row}.named("g_proj"));
    w.matrix(LayerMatrix{"o", row, values()}.named("o_proj").adapted("o"));
    w.vector({"norm", whole(value_dim)});
  }

  KeptState kept() const {
    KeptState k;
    k.recurrent = key_dim * values();
    return k;
  }

  constexpr void divide(TensorRules& rules) const { rules.divides(heads, "retention heads"); }

  constexpr Width buffers() const { return 2 * keys() + 3 * values(); }

  template <class Saved>
  void save(Saved& s) const {
    s.input({"q", "k", "v"});
    s.tensor(1, 2 * keys() + 2 * values());
    s.tensor(1, values());
    s.operand(values(), {"o"}, SavedRows::kAll);
    s.gradients(2 * keys() + values());
    s.recomputed(1, keys() + values());
  }

  std::string label() const { return "retention"; }
  LayerFacts facts() const {
    return {.text = fmt::format("retention ({} heads of {} x {})", heads, key_dim, value_dim),
            .kind = "linear attention (retention)"};
  }
};

}  // namespace orrery
