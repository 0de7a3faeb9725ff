// The whole block of multi-head latent attention, as the table mla_module times it.
//
// base = the sum of its products' and its core's (gemm.cc, mla.cc). Coordinates: log2 of heads, of
// sequences, of the keys that a sequence held before when decoding, of its new tokens when it is
// prefilled. A class for each phase, format of the projections and format of the cache.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 3> kProjections = {"bf16", "fp8_block", "nvfp4"};
constexpr std::array<std::string_view, 3> kCores = {"", "_fp8kv", "_fp8"};

std::size_t projection_index(Format f) {
  switch (f) {
    case Format::kNvfp4:
    case Format::kMxfp4:
    case Format::kMxfp4Fp8:
      return 2;
    case Format::kFp8:
    case Format::kFp8Block:
    case Format::kInt8:
      return 1;
    default:
      return 0;
  }
}

std::string class_name(bool decode, std::size_t projection, std::size_t core) {
  return fmt::format("{}_{}{}", decode ? "decode" : "prefill", kProjections[projection],
                     kCores[core]);
}

std::size_t class_index(const MlaModule& m) {
  const LatentAttentionCore& a = m.core;
  const std::size_t core = a.dtype == Dtype::kFp8 ? 2 : a.kv_dtype == Dtype::kBf16 ? 0 : 1;
  return (a.decode ? 9u : 0u) + projection_index(m.format) * 3 + core;
}

class LatentModuleFamily : public KernelFamily {
 public:
  LatentModuleFamily() {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const bool decode = i >= 9;
      const std::size_t projection = i % 9 / 3, core = i % 3;
      auto& sources = classes_[i].sources;
      sources.push_back({class_name(decode, projection, core), 1, 0});
      if (core == 2) sources.push_back({class_name(decode, projection, 1), 1, 0.1});
      if (core != 0) sources.push_back({class_name(decode, projection, 0), 1, 0.15});
      // Four-bit products take 1.3 times their share of the peak and quantise their input
      // (gemm.cc); the block is not all products.
      if (projection == 2) sources.push_back({class_name(decode, 1, core), 1.2, 0.2});
      if (projection != 0) sources.push_back({class_name(decode, 0, core), 1, 0.25});
      if (projection != 0) sources.push_back({class_name(decode, 0, 0), 1, 0.3});
    }
  }

  std::string_view name() const override { return "mla_module"; }
  KernelKinds kinds() const override { return kinds_of<MlaModule>(); }

  std::vector<std::vector<double>> axes() const override { return latent_core_family().axes(); }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return static_cast<int>(class_index(std::get<MlaModule>(op)));
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& m = std::get<MlaModule>(op);
    const LatentAttentionCore& a = m.core;
    KernelPoint p = latent_core_family().point(a, gpu, warm);
    const MlaProjections all = projections(m);
    for (std::size_t i = 0; i < all.count; ++i) {
      const Gemm& g = all.products[i];
      const KernelPoint q =
          (g.batch > 1 ? absorbed_product_family() : gemm_family()).point(g, gpu, warm);
      p.compute = p.compute + q.compute;
      p.memory = p.memory + q.memory;
      p.base = p.base + q.base;
      p.least = p.least + q.least;
    }
    const double length = a.decode ? std::max(1.0, a.context - 1) : real(a.new_tokens);
    p.x = {quick_log2(a.heads), quick_log2(real(a.batch)), quick_log2(length), 0};
    return p;
  }

  // The block is warm where one of its kernels is, whose operands are a part of the block's.
  bool warm_differs(const Op& op, const KernelGpu& gpu) const override {
    const auto& m = std::get<MlaModule>(op);
    if (latent_core_family().warm_differs(m.core, gpu)) return true;
    const MlaProjections all = projections(m);
    return std::any_of(
        all.products.begin(), all.products.begin() + static_cast<std::ptrdiff_t>(all.count),
        [&](const Gemm& g) {
          return (g.batch > 1 ? absorbed_product_family() : gemm_family()).warm_differs(g, gpu);
        });
  }

  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(25); }  // 25 to 50 us measured

 private:
  std::array<KernelClass, 18> classes_;
};

}  // namespace

const KernelFamily& latent_module_family() {
  static const LatentModuleFamily family;
  return family;
}

}  // namespace orrery
