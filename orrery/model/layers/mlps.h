// Channel mixers: the half of a layer that works on each token alone. Dense MLPs and mixtures of
// experts declare their weights as mixers do (mixers.h). How ranks share experts is known to the
// rooms above, because it depends on the plan.
#pragma once

#include <string>
#include <variant>

#include "orrery/model/layers/dense_mlp.h"
#include "orrery/model/layers/moe_mlp.h"

namespace orrery {

// The layer has no channel mixer (attention-only and Mamba-only layers of Nemotron-H).
struct NoMlp {
  bool operator==(const NoMlp&) const = default;
  template <class Weights>
  constexpr void declare(Weights&, std::int64_t) const {}
  constexpr void divide(TensorRules&) const {}
  std::string label() const { return ""; }
  std::string text() const { return ""; }
};

using Mlp = std::variant<NoMlp, DenseMlp, MoeMlp>;

inline bool has_mlp(const Mlp& mlp) { return !std::holds_alternative<NoMlp>(mlp); }

template <class Weights>
constexpr void declare(const Mlp& mlp, std::int64_t hidden, Weights& weights) {
  std::visit([&](const auto& m) { m.declare(weights, hidden); }, mlp);
}

inline void divide(const Mlp& mlp, TensorRules& rules) {
  std::visit([&](const auto& m) { m.divide(rules); }, mlp);
}

// "dense" or "moe"; empty without an MLP.
inline std::string mlp_label(const Mlp& mlp) {
  return std::visit([](const auto& m) { return m.label(); }, mlp);
}

// One line with its sizes; empty without an MLP.
inline std::string mlp_text(const Mlp& mlp) {
  return std::visit([](const auto& m) { return m.text(); }, mlp);
}

}  // namespace orrery
