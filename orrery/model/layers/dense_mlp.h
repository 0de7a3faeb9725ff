// A dense MLP: two matrices (up, down), or three when gated (gate, up, down). Ranks divide its
// inner width.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

enum class Activation {
  kSilu,
  kGelu,
  // GELU by tanh, written as its formula in the model's code (Hugging Face's NewGELUActivation,
  // nanoGPT, minGPT): several kernels unless a compiler fuses them.
  kWrittenGelu,
  kRelu,
  kRelu2
};

// The modules of a dense MLP in checkpoints.
inline constexpr std::string_view kMlpModules = "mlp feed_forward ffn mixer block_sparse_moe";

// The matrices of one MLP, or of equal experts.
struct MlpMatrices {
  WeightPart part = WeightPart::kDenseMlps;
  std::string_view modules = kMlpModules;
  std::int64_t inner = 0;  // elements between them
  bool gated = false;
  bool bias = false;  // on every matrix
  std::int64_t copies = 1;

  // `row`: elements in and out.
  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t row) const {
    const LayerMatrix in{"up", divided(inner), whole(row)}, out{"down", whole(row), divided(inner)};
    if (gated) w.matrix(of_mlp({"gate", in.outputs, in.inputs}).named("gate_proj gate_up_proj w1"));
    w.matrix(of_mlp(in).named("up_proj gate_up_proj w3 fc1 c_fc dense_h_to_4h fc_in"));
    w.matrix(of_mlp(out).named("down_proj w2 fc2 c_proj dense_4h_to_h fc_out"));
  }

 private:
  constexpr LayerMatrix of_mlp(const LayerMatrix& m) const {
    return m.of(part).in(modules).adapted(m.role).biased(bias).times(copies);
  }
};

struct DenseMlp {
  int intermediate = 0;
  bool gated = false;
  bool bias = false;  // on every matrix
  Activation activation = Activation::kSilu;
  bool operator==(const DenseMlp&) const = default;

  constexpr MlpMatrices matrices() const {
    return {.inner = intermediate, .gated = gated, .bias = bias};
  }
  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    matrices().declare(w, hidden);
  }
  constexpr void divide(TensorRules& rules) const {
    rules.divides_width(intermediate, "MLP intermediate size");
  }
  std::string label() const { return "dense"; }
  std::string text() const { return fmt::format("MLP of {}", intermediate); }
};

}  // namespace orrery
