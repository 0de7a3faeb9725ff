// Expert products of wide expert parallelism: tokens have been dispatched to the rank already, so
// that neither routing nor the all-to-all is part of the call (DeepEP with DeepGEMM in SGLang,
// TensorRT-LLM's wide EP).
//
// base = setup + compute + memory. Coordinates: log2 of tokens an expert, of experts of the rank,
// of the model width. A class for each format and phase (prefill kernels lay tokens out
// contiguously, decode kernels in masked slots; TensorRT-LLM has one for both), balanced or skewed.
// Loads that a balancer evens out (`_eplb`) and uniform ones are balanced.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 2> kFormats = {"fp8_block", "nvfp4"};

std::string class_name(std::size_t format, bool decode, bool skewed) {
  return fmt::format("{}_{}{}", kFormats[format], decode ? "decode" : "prefill",
                     skewed ? "_skewed" : "");
}

class WideEpFamily : public KernelFamily {
 public:
  WideEpFamily() {
    for (std::size_t f = 0; f < kFormats.size(); ++f) {
      for (bool decode : {false, true}) {
        for (bool skewed : {false, true}) {
          KernelClass c;
          c.sources = {{class_name(f, decode, skewed)},
                       {class_name(f, decode, !skewed), 1, 0.1},
                       {class_name(f, !decode, skewed), 1, 0.3},
                       {class_name(1 - f, decode, skewed), 1, 0.35}};
          classes_.push_back(std::move(c));
        }
      }
    }
  }

  std::string_view name() const override { return "moe_wide_ep"; }
  KernelKinds kinds() const override {
    return kinds_of<MoeExperts>(MoeExperts::Kernel::kDispatched);
  }
  std::vector<std::vector<double>> axes() const override {
    return {
        {-6, -4, -2, 0, 2, 4, 6, 7, 8, 10, 12, 14}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {11.5, 12.6, 13}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const auto& m = std::get<MoeExperts>(op);
    const int format = m.format == Format::kNvfp4 || m.format == Format::kMxfp4Fp8 ? 1 : 0;
    return format * 4 + (m.dispatched == MoeExperts::Dispatched::kDecode ? 2 : 0) +
           (m.skew > 0 ? 1 : 0);
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& m = std::get<MoeExperts>(op);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = bytes(op) / gpu.memory.bandwidth;
    const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : Bytes(0);
    p.base = kSetup + p.compute + gpu.move_time(bytes(op), cached);
    // Not every expert that the expectation counts need be hit by a draw: half of the bytes.
    p.least = std::max(p.compute * 0.5, gpu.least_move_time(bytes(op), cached) * 0.5);
    p.x = {quick_log2(real(m.tokens) * m.top_k / m.experts),
           quick_log2(std::max(1.0, 1.0 * m.experts / m.ep)), quick_log2(m.hidden), 0};
    return p;
  }

  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.7; }
  Seconds analytical_floor() const override { return microseconds(20); }

 private:
  static constexpr Seconds kSetup = microseconds(10);
  std::vector<KernelClass> classes_;
};

}  // namespace

const KernelFamily& wide_ep_family() {
  static const WideEpFamily family;
  return family;
}

}  // namespace orrery
