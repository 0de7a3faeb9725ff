// How many results a matrix product computes when its tiles and waves are padded.
//
// A kernel covers the m x n results with tiles of one shape and runs as many tiles at a time as the
// GPU has compute units (a wave). Results outside the matrix and idle units of the last wave are
// lost. A library has several shapes and takes the best.
//
// The code computes two shapes at a time with the pair type of base/quick_math.h, which makes a
// look-up of a product 13 % faster than plain numbers (bench/kernel_bench.cc, gemm_many: 57 against
// 66 ns). Nothing outside of this file and kernel_gpu.h uses the pairs.
#pragma once

#include <algorithm>
#include <array>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

namespace product_tiles {

// Two tile shapes of a block: rows, columns, and the relative cost of a result. A smaller tile
// reuses its operands less.
struct Pair {
  struct Shape {
    double m, n, penalty;
    double cost() const { return m * n * penalty; }
  };
  Pair(const Shape& a, const Shape& b)
      : per_m{1 / a.m, 1 / b.m},
        per_n{1 / a.n, 1 / b.n},
        below_half_m(0.5 - 0.5 * per_m),
        below_half_n(0.5 - 0.5 * per_n),
        cost{a.cost(), b.cost()} {}
  Two per_m, per_n;                // tiles per row and column
  Two below_half_m, below_half_n;  // for `ceiling`
  Two cost;                        // of a tile, in results at the full rate
};

// The shapes are those of the tensor-core kernels of cuBLAS and CUTLASS; the penalties are rounded
// from their operand reuse. Kernels of the last two swap the operands, so that the few rows of a
// decode step fill the 8 columns of an instruction.
inline const std::array<Pair, 3> kPairs = {{{{128, 256, 1.0}, {128, 128, 1.05}},
                                            {{64, 128, 1.15}, {64, 64, 1.35}},
                                            {{16, 128, 2.0}, {8, 128, 2.5}}}};

// Share of the idle units of an incomplete wave that is lost: the heuristics of libraries choose
// tiles that fill it. From a search for the least error on left-out shapes of six classes.
inline constexpr double kWaveLoss = 0.3;

}  // namespace product_tiles

// Results computed for `batch` products of m x n results, padding included, with the best shape.
[[gnu::always_inline]] inline double padded_results(double m, double n, double batch,
                                                    const KernelGpu& gpu) {
  using namespace product_tiles;
  const double units = gpu.units(), per_unit = gpu.per_unit();
  const Two below_half = both(0.5 - 0.5 * per_unit);
  Two costs = both(1e300);  // of the best shapes
#pragma GCC unroll 3
  for (const Pair& t : kPairs) {
    const Two tiles =
        ceiling(m * t.per_m, t.below_half_m) * ceiling(n * t.per_n, t.below_half_n) * batch;
    const Two whole_waves = ceiling(tiles * per_unit, below_half) * units;
    // A product with little work per wave is split along k: it loses half a wave at most.
    const Two run = minimum(tiles + kWaveLoss * (whole_waves - tiles), tiles + 0.5 * units);
    costs = minimum(costs, run * t.cost);
  }
  return std::min(costs[0], costs[1]);
}

// Whether block-scaled products have kernels of one tile shape and take its time at least
// (GpuArchitecture::whole_block_scaled_tiles).
inline bool has_whole_tiles(const KernelGpu& gpu) {
  return gpu.architecture.whole_block_scaled_tiles;
}
inline bool is_block_scaled(Format format) {
  return format == Format::kNvfp4 || format == Format::kMxfp4Fp8;
}

// padded_results() where kernels have one tile shape of kWholeTile squared and never split along k.
inline constexpr double kWholeTile = 128;
// Time in which a compute unit works off one such tile along k: no product takes less.
inline Seconds whole_tile_time(double k, FlopsPerSecond rate, const KernelGpu& gpu) {
  return Flops(2 * kWholeTile * kWholeTile * k * gpu.units()) / rate;
}
inline double whole_tile_results(double m, double n, double batch, const KernelGpu& gpu) {
  const double tiles = ceiling(m / kWholeTile) * ceiling(n / kWholeTile) * batch;
  return ceiling(tiles * gpu.per_unit()) * gpu.units() * kWholeTile * kWholeTile;
}

}  // namespace orrery
