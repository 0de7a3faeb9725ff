// Gradients as a sweep of a user's GPU measures them: both products of a linear layer's gradients,
// and attention's backward pass. Framework: pytorch. Where no sweep is, forward surfaces serve
// (kernel_model.cc); these families are asked only where they have a surface.
//
// gemm_gradient: physics of gemm (gemm.cc). Coordinates: log2 of m, n, k of the product itself. A
// class for each gradient and number format.
// attention_backward: base = setup + max(compute in blocks of 128 queries and waves, memory).
// Coordinates: log2 of new tokens, of sequences x heads, of heads per KV head. A class for each
// head size.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

class GemmGradientFamily : public KernelFamily {
 public:
  GemmGradientFamily() {
    classes_[0].sources = {{"bf16_input_gradient"}};
    classes_[1].sources = {{"bf16_weight_gradient"}};
    classes_[2].sources = {{"fp32_input_gradient"}};
    classes_[3].sources = {{"fp32_weight_gradient"}};
  }

  std::string_view name() const override { return "gemm_gradient"; }
  KernelKinds kinds() const override { return kinds_of<Gemm>(Gemm::Kernel::kGradient); }
  std::vector<std::vector<double>> axes() const override {
    const std::vector<double> size = {8, 9, 10, 11, 12, 13, 14, 15};
    return {size, size, size};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const auto& g = std::get<Gemm>(op);
    const int gradient = g.weight ? 0 : 1;  // only the input's reads a weight
    switch (g.format) {
      case Format::kBf16:
      case Format::kFp16:
        return gradient;
      case Format::kFp32:
      case Format::kTf32:
        return 2 + gradient;
      default:
        return -1;
    }
  }
  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    return gemm_family().point(op, gpu, warm);
  }
  double analytical_inefficiency(const Op& op, const KernelGpu& gpu) const override {
    return gemm_family().analytical_inefficiency(op, gpu);
  }
  Seconds analytical_floor() const override { return gemm_family().analytical_floor(); }

 private:
  std::array<KernelClass, 4> classes_;
};

constexpr std::array<int, 3> kGradientHeadDims = {64, 128, 256};

class AttentionBackwardFamily : public KernelFamily {
 public:
  AttentionBackwardFamily() {
    for (std::size_t i = 0; i < kGradientHeadDims.size(); ++i) {
      classes_[i].sources = {{class_name(i)}};
      for (const std::size_t other : {1u, 0u, 2u}) {
        if (other != i) classes_[i].sources.push_back({class_name(other), 1, 0.25});
      }
    }
  }

  std::string_view name() const override { return "attention_backward"; }
  KernelKinds kinds() const override { return kinds_of<AttentionBackward>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{8, 9, 10, 11, 12, 13, 14}, {3, 4, 5, 6, 7, 8, 9, 10}, {0, 1, 2, 3}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const int head_dim = std::get<AttentionBackward>(op).forward.head_dim;
    return head_dim <= 96 ? 0 : head_dim <= 192 ? 1 : 2;
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const PrefillAttention& a = std::get<AttentionBackward>(op).forward;
    const double tokens = real(a.new_tokens), blocks = real(a.batch) * a.heads;
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = bytes(op) / gpu.memory.bandwidth;
    // Blocks on the diagonal are computed whole, in both directions.
    const double padded = ceiling(tokens / kBlock) * kBlock;
    const double waste = (padded + (a.causal ? kBlock : 0)) / (tokens + (a.causal ? 1 : 0));
    const double waves = wave_factor(blocks * ceiling(tokens / kBlock), gpu.compute_units);
    const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : gpu.if_cached(bytes(op));
    p.base = kSetup + std::max(p.compute * waste * waves, gpu.move_time(bytes(op), cached));
    p.least = std::max(p.compute, gpu.least_move_time(bytes(op), cached));
    p.x = {std::log2(tokens), std::log2(blocks), std::log2(1.0 * a.heads / a.kv_heads), 0};
    return p;
  }
  // FlashAttention-2's backward pass on A100: 0.5 to 0.6 of the peak (Dao 2023).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 2; }
  Seconds analytical_floor() const override { return microseconds(10); }

 private:
  static constexpr Seconds kSetup = microseconds(5);
  static constexpr double kBlock = 128;
  static std::string class_name(std::size_t head_dim) {
    return fmt::format("bf16_{}_gradient", kGradientHeadDims[head_dim]);
  }
  std::array<KernelClass, kGradientHeadDims.size()> classes_;
};

}  // namespace

const KernelFamily& gemm_gradient_family() {
  static const GemmGradientFamily family;
  return family;
}

const KernelFamily& attention_backward_family() {
  static const AttentionBackwardFamily family;
  return family;
}

}  // namespace orrery
