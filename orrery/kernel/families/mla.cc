// Multi-head latent attention: its core, and the absorbed products around it when decoding.
//
// Core: base = compute + memory. Coordinates: log2 of sequences, of keys a sequence holds, of
// heads. A class for prefill (expanded heads) and decode (on the latent) in each pair of number
// formats. Absorbed products (one small matrix a head): base = max(compute, memory), compute over
// tiles of 64 rows in whole waves. Coordinates: log2 of rows, of heads, of output width.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 6> kCoreClasses = {
    "prefill_bf16", "prefill_fp8kv", "prefill_fp8", "decode_bf16", "decode_fp8kv", "decode_fp8"};

bool is_byte(Dtype d) { return d == Dtype::kFp8 || d == Dtype::kInt8; }

std::size_t core_class(const LatentAttentionCore& a) {
  return (a.decode ? 3u : 0u) + (a.dtype == Dtype::kFp8 ? 2u : is_byte(a.kv_dtype) ? 1u : 0u);
}

class LatentCoreFamily : public KernelFamily {
 public:
  LatentCoreFamily() {
    for (std::size_t i = 0; i < kCoreClasses.size(); ++i) {
      auto& sources = classes_[i].sources;
      sources.push_back({std::string(kCoreClasses[i]), 1, 0});
      const std::size_t phase = i / 3 * 3;
      // The tables call every core with an fp8 cache "bfloat16". The kernel chooses the format of
      // its products.
      if (i % 3 == 2) sources.push_back({std::string(kCoreClasses[phase + 1]), 1, 0.1});
      if (i % 3 != 0) sources.push_back({std::string(kCoreClasses[phase]), 1, 0.2});
    }
  }

  std::string_view name() const override { return "mla"; }
  KernelKinds kinds() const override { return kinds_of<LatentAttentionCore>(); }

  std::vector<std::vector<double>> axes() const override {
    return {{0, 1, 2, 3, 4, 5, 6, 7},
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
            log2_of({1,    2,    4,    8,    16,   32,    64,    128,   256,   512,   1024,  1536,
                     2048, 3072, 4096, 6144, 8192, 10240, 12288, 16384, 32768, 65536, 131072})};
  }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return static_cast<int>(core_class(std::get<LatentAttentionCore>(op)));
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<LatentAttentionCore>(op);
    const Bytes moved = bytes(op);
    KernelPoint p;
    // Cores on an fp8 cache multiply in fp8 where the hardware does.
    const Dtype fastest =
        is_byte(a.kv_dtype) && gpu.supports(Dtype::kFp8) ? Dtype::kFp8 : arithmetic(op);
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = moved / gpu.memory.bandwidth;
    const Bytes cached = warm ? gpu.cached_on_repeat(moved) : Bytes(0);
    const Seconds from_memory = gpu.move_time(moved, cached);
    p.base = p.compute + from_memory;
    p.least = std::max(flops(op) / gpu.rate(fastest), gpu.least_move_time(moved, cached));
    p.x = {quick_log2(a.heads), quick_log2(real(a.batch)), quick_log2(std::max(1.0, a.context)), 0};
    return p;
  }

  // Cores reach about two thirds of either limit on Hopper and Blackwell; base already adds the
  // two.
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(12); }  // 10 to 17 us measured

 private:
  std::array<KernelClass, kCoreClasses.size()> classes_;
};

constexpr std::array<std::string_view, 2> kProductClasses = {"bf16", "fp8"};

class AbsorbedProductFamily : public KernelFamily {
 public:
  AbsorbedProductFamily() {
    classes_[0].sources = {{"bf16"}};
    classes_[1].sources = {{"fp8"}, {"bf16", 1, 0.3}};
  }

  std::string_view name() const override { return "mla_bmm"; }
  KernelKinds kinds() const override {
    return kinds_of<Gemm>(Gemm::Kernel::kBatched, Gemm::Kernel::kBatchedFp32);
  }

  std::vector<std::vector<double>> axes() const override {
    return {{7, 9}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14}};
  }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override { return arithmetic(op) == Dtype::kFp8 ? 1 : 0; }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& g = std::get<Gemm>(op);
    const double m = real(g.m), n = real(g.n), heads = real(g.batch);
    const Bytes moved = bytes(op);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = moved / gpu.memory.bandwidth;
    const double tiles = ceiling(m / kTile) * ceiling(n / kTile) * heads;
    const double padding = ceiling(m / kTile) * kTile / m * ceiling(n / kTile) * kTile / n;
    const Bytes cached = warm ? gpu.cached_on_repeat(moved) : Bytes(0);
    const Seconds from_memory = gpu.move_time(moved, cached);
    p.base = std::max(p.compute * padding * wave_factor(tiles, gpu.compute_units), from_memory);
    p.least = std::max(p.compute, gpu.least_move_time(moved, cached));
    p.x = {quick_log2(n), quick_log2(heads), quick_log2(m), 0};
    return p;
  }

  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.5; }
  Seconds analytical_floor() const override { return microseconds(3); }

 private:
  static constexpr double kTile = 64;
  std::array<KernelClass, kProductClasses.size()> classes_;
};

}  // namespace

const KernelFamily& latent_core_family() {
  static const LatentCoreFamily family;
  return family;
}

const KernelFamily& absorbed_product_family() {
  static const AbsorbedProductFamily family;
  return family;
}

}  // namespace orrery
