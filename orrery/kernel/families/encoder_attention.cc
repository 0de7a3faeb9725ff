// Bidirectional attention of encoders (vision towers): every token sees every other.
//
// base = setup + max(compute, memory), compute over whole blocks of 128 queries and keys and whole
// waves. Coordinates: log2 of tokens, of sequences x heads. A class for each measured head size;
// sizes between are padded by the kernels to the next.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr std::array<int, 3> kEncoderHeadDims = {64, 72, 80};

class EncoderAttentionFamily : public KernelFamily {
 public:
  EncoderAttentionFamily() {
    classes_[0].sources = {{"bf16_64"}, {"bf16_80", 1, 0.15}};
    classes_[1].sources = {{"bf16_72"}, {"bf16_80", 1, 0.1}};
    classes_[2].sources = {{"bf16_80"}, {"bf16_72", 1, 0.1}};
    classes_[3].sources = {{"bf16_wide"}, {"bf16_80", 1, 0.25}};  // wider heads: not measured
  }

  std::string_view name() const override { return "attention_encoder"; }
  KernelKinds kinds() const override {
    return kinds_of<PrefillAttention>(PrefillAttention::Kernel::kEncoder);
  }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const int dim = std::get<PrefillAttention>(op).head_dim;
    for (std::size_t i = 0; i < kEncoderHeadDims.size(); ++i) {
      if (dim <= kEncoderHeadDims[i]) return static_cast<int>(i);
    }
    return 3;
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<PrefillAttention>(op);
    constexpr double kBlock = 128;
    const double n = real(a.new_tokens), sequences = real(a.batch);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(a.dtype);
    p.memory = bytes(op) / gpu.memory.bandwidth;
    const double blocks = ceiling(n / kBlock);
    const double tiles = sequences * a.heads * blocks;
    const double waves =
        std::min(wave_factor(tiles, gpu.compute_units), gpu.compute_units / tiles + 1);
    const double keys = n + real(a.past);
    const double waste = (blocks * kBlock / n) * (ceiling(keys / kBlock) * kBlock / keys);
    const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : gpu.if_cached(bytes(op));
    p.base = kSetup + std::max(p.compute * waste * waves, gpu.move_time(bytes(op), cached));
    p.least = std::max(p.compute, gpu.least_move_time(bytes(op), cached));
    p.x = {quick_log2(n), quick_log2(sequences * a.heads), 0, 0};
    return p;
  }

  // As prefill (attention.cc).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 2.0; }
  Seconds analytical_floor() const override { return microseconds(7); }

 private:
  static constexpr Seconds kSetup = microseconds(2);
  std::array<KernelClass, 4> classes_;
};

}  // namespace

const KernelFamily& encoder_attention_family() {
  static const EncoderAttentionFamily family;
  return family;
}

}  // namespace orrery
