// Batched matrix products in fp32 (torch.bmm): attention's scores and values without a fused
// kernel, and their gradients.
//
// base = setup + max(compute, memory), compute padded to the tiles of the SIMT kernels and to whole
// waves. Coordinates: log2 of m, n, k and of the batch. One class. 16-bit batches are the absorbed
// products of MLA (mla.cc).
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

// Square tiles of the fp32 kernels of cuBLAS and rocBLAS (ampere_sgemm_128x128, _64x64, _32x32 in
// NeuSight's tables, docs/data.md), and the relative cost of a result of a smaller tile.
struct Tile {
  double m, n, penalty;
};
constexpr std::array<Tile, 5> kTiles = {
    {{128, 128, 1.0}, {128, 64, 1.05}, {64, 64, 1.15}, {32, 128, 1.3}, {32, 32, 1.6}}};

class BatchedGemmFamily : public KernelFamily {
 public:
  BatchedGemmFamily() { classes_[0].sources = {{"fp32"}}; }

  std::string_view name() const override { return "batched_gemm"; }
  KernelKinds kinds() const override { return kinds_of<Gemm>(Gemm::Kernel::kBatchedFp32); }

  std::vector<std::vector<double>> axes() const override {
    const std::vector<double> size = {1, 4, 5, 6, 7, 8, 9, 10, 11};
    return {size, size, {1, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 3, 5, 7, 9, 10}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op&) const override { return 0; }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& g = std::get<Gemm>(op);
    const double m = real(g.m), n = real(g.n), k = real(g.k), batch = real(g.batch);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = bytes(op) / gpu.memory.bandwidth;
    double padded = 1e30;
    for (const Tile& t : kTiles) {
      const double tiles = ceiling(m / t.m) * ceiling(n / t.n) * batch;
      const double waste = tiles * t.m * t.n / (m * n * batch);
      padded = std::min(padded, waste * wave_factor(tiles, gpu.compute_units) * t.penalty);
    }
    const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : gpu.if_cached(bytes(op));
    const Seconds limited = std::max(p.compute, flops(op) / gpu.sustained_fp32());
    p.base = kSetup + std::max(limited * padded, gpu.move_time(bytes(op), cached));
    p.least = std::max(p.compute, gpu.least_move_time(bytes(op), cached));
    p.x = {quick_log2(m), quick_log2(n), quick_log2(k), quick_log2(batch)};
    return p;
  }

  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(5); }

 private:
  static constexpr Seconds kSetup = microseconds(3);
  std::array<KernelClass, 1> classes_;
};

}  // namespace

const KernelFamily& batched_gemm_family() {
  static const BatchedGemmFamily family;
  return family;
}

}  // namespace orrery
