// Matrix products.
//
// base = max(compute, memory): compute is padded to tiles and whole waves for the best of a few
// tile shapes, memory moves every operand once. Coordinates: log2 of m, n, k. A class for each
// number format.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/quick_math.h"
#include "orrery/base/random.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

// Tile shapes of a block and what a smaller one costs in operand traffic (relative rate).
// Tensor-core kernels of cuBLAS and CUTLASS use these shapes; the penalties are rounded from their
// operand reuse.
// Two shapes a line.
struct Tiles {
  struct Shape {
    double m, n, penalty;
    double cost() const { return m * n * penalty; }
  };
  Tiles(const Shape& a, const Shape& b)
      : per_m{1 / a.m, 1 / b.m},
        per_n{1 / a.n, 1 / b.n},
        below_half_m(0.5 - 0.5 * per_m),
        below_half_n(0.5 - 0.5 * per_n),
        cost{a.cost(), b.cost()} {}
  Two per_m, per_n;                // tiles a unit of m and n
  Two below_half_m, below_half_n;  // for ceiling
  Two cost;                        // of a tile, in outputs at the full rate
};
// The last two are those of decode steps: operands swapped, so that the few rows fill the
// instruction's 8 columns.
const std::array<Tiles, 3> kGemmTiles = {{{{128, 256, 1.0}, {128, 128, 1.05}},
                                          {{64, 128, 1.15}, {64, 64, 1.35}},
                                          {{16, 128, 2.0}, {8, 128, 2.5}}}};

// llama.cpp multiplies 4-bit blocks in int8 with a scale per 32 values: 15 to 23 % of the int8 peak
// reached on A100, A40, RTX 3090 and 4090 (prompt processing of Llama-3-8B, data/inference), a
// third of it attainable.
constexpr double kBlockInt8Share = 0.33;

const std::array<std::string_view, 12> kClassNames = {
    "bf16",  "fp8",   "fp8_block", "int8",     "int8_weight", "int4_weight",
    "nvfp4", "mxfp4", "mxfp4_fp8", "int4_fp8", "fp32",        "q4_k"};

int class_index(Format f) {
  switch (f) {
    case Format::kBf16:
    case Format::kFp16:
      return 0;
    case Format::kFp8:
      return 1;
    case Format::kFp8Block:
      return 2;
    case Format::kInt8:
      return 3;
    case Format::kInt8Weight:
      return 4;
    case Format::kInt4Weight:
      return 5;
    case Format::kNvfp4:
      return 6;
    case Format::kMxfp4:
      return 7;
    case Format::kMxfp4Fp8:
      return 8;
    case Format::kInt4Fp8:
      return 9;
    case Format::kFp32:
    case Format::kTf32:
      return 10;
    case Format::kQ4K:
      return 11;
  }
  return -1;
}

class GemmFamily : public KernelFamily {
 public:
  GemmFamily() {
    auto set = [this](std::size_t i, std::vector<KernelClassSource> sources) {
      classes_[i].sources = std::move(sources);
    };
    // Factors: medians over A100, L40S, H100 and H200 of the same calls in both formats
    // (tests/accuracy/substitute_accuracy_test.cc); fp8 falls back on bf16 where there is no fp8
    // hardware and kernels are weight-only: as int8_weight. No sweep there has formats of 4-bit
    // floats or llama.cpp's: by analogy.
    set(0, {{"bf16"}});
    set(1, {{"fp8"}, {"bf16", 1.25, 0.25}});
    set(2, {{"fp8_block"}, {"fp8", 1.05, 0.15}, {"bf16", 1.25, 0.3}});
    set(3, {{"int8"}, {"fp8", 1.0, 0.2}, {"bf16", 1.25, 0.3}});
    set(4, {{"int8_weight"}, {"bf16", 1.25, 0.35}});
    set(5, {{"int4_weight"}, {"bf16", 1.2, 0.35}});
    set(6, {{"nvfp4"}, {"fp8", 1.3, 0.25}, {"bf16", 1.4, 0.3}});
    set(7, {{"mxfp4"}, {"int4_weight", 1.0, 0.2}, {"bf16", 1.25, 0.25}});
    set(8, {{"mxfp4_fp8"}, {"fp8", 1.1, 0.25}, {"bf16", 1.3, 0.3}});
    set(9, {{"int4_fp8"}, {"fp8", 1.1, 0.25}, {"bf16", 1.3, 0.3}});
    set(11, {{"q4_k"}, {"int4_weight", 1.0, 0.25}, {"bf16", 1.0, 0.3}});
    set(10, {{"fp32"}, {"bf16", 1.0, 0.25}});
    for (std::size_t i = 0; i < 10; ++i) classes_[i].torch_error = kOtherQuantisation;
    classes_[0].torch_error = kSameLibrary;
  }

  std::string_view name() const override { return "gemm"; }
  KernelKinds kinds() const override {
    return kinds_of(KernelKind::kProduct, KernelKind::kProductGradient, KernelKind::kBatchedProduct,
                    KernelKind::kBatchedFp32Product);
  }

  std::vector<std::vector<double>> axes() const override {
    // The sizes of the sweeps. Of m: beside multiples of tiles a node for the next row, with which
    // kernels change their tile.
    static const std::vector<double> m = log2_of(
        {1,    2,    4,    8,    16,   17,   32,   33,   48,   49,   64,   65,   80,    81,
         96,   97,   112,  113,  128,  129,  160,  161,  192,  193,  224,  225,  256,   257,
         512,  513,  768,  769,  1024, 1025, 1280, 1281, 1536, 1537, 1792, 1793, 2048,  2049,
         2304, 2305, 2560, 2561, 2816, 2817, 3072, 3073, 3584, 4096, 4097, 8192, 16384, 32768});
    static const std::vector<double> n_k =
        log2_of({32,   64,   128,  256,  512,  768,  1024,  1536,  2048,  2560,  3072,
                 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384, 51200, 65536});
    return {m, n_k, n_k};
  }

  std::vector<AxisSmoothness> smoothness() const override {
    return {{0.001, 0.003, 0.1}, {0.001, 0.003, 0.1}, {0.001, 0.003, 0.1}};
  }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override { return class_index(std::get<Gemm>(op).format); }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& g = std::get<Gemm>(op);
    const double m = static_cast<double>(g.m), n = static_cast<double>(g.n),
                 k = static_cast<double>(g.k), batch = static_cast<double>(g.batch);
    const Bytes moved = bytes(g);
    const FormatProperties& format = properties(g.format);
    const Flops work = flops(g);
    const FlopsPerSecond rate =
        gpu.rate(format.arithmetic) * (g.format == Format::kQ4K ? kBlockInt8Share : 1);
    const Seconds compute = work / rate;
    const double units = gpu.units(), per_unit = gpu.per_unit();
    const Two below_half = both(0.5 - 0.5 * per_unit);
    Two costs = both(1e300);  // of the best shapes
#pragma GCC unroll 3
    for (const Tiles& t : kGemmTiles) {
      const Two tiles =
          ceiling(m * t.per_m, t.below_half_m) * ceiling(n * t.per_n, t.below_half_n) * batch;
      const Two whole_waves = ceiling(tiles * per_unit, below_half) * units;
      // A product with little work per wave is split along k: half a wave is the worst that is
      // lost.
      const Two run = minimum(tiles + kWaveLoss * (whole_waves - tiles), tiles + 0.5 * units);
      costs = minimum(costs, run * t.cost);
    }
    // Operands and results of a decode step stay in the cache; weights do not, unless the call is
    // repeated on them.
    const Bytes weights = static_cast<double>(g.weight) * (k * n * batch) * format.weight;
    const Bytes cached = gpu.if_cached(moved - weights);
    const Bytes cached_again = cached + gpu.cached_on_repeat(weights * kCopies) * (1 / kCopies);
    const Flops padded(2 * k * std::min(costs[0], costs[1]));
    Seconds computed = padded / rate;
    if (format.arithmetic == Dtype::kFp32)
      computed = std::max(computed, padded / gpu.sustained_fp32());
    const Two bases = kSetup.value() +
                      maximum(both(computed.value()), gpu.move_times(moved, cached, cached_again));
    const Seconds base(bases[0]), again(bases[1]);
    const Seconds least =
        std::max(compute, gpu.least_move_time(moved, warm ? cached_again : cached));
    const Two x = quick_log2(Two{m, n * batch});
    return {{x[0], x[1], quick_log2(k), 0},
            compute,
            gpu.by_sheet(moved),
            warm ? again : base,
            again,
            least,
            Seconds(0)};
  }

  Seconds fill_and_drain() const override { return kSetup; }
  ExtrapolationError extrapolation_error() const override {
    return {.per_doubling = 0.16, .most = 0.30};
  }

  // Memory-bound bf16 products reach 0.77 to 0.88 of the data sheet on every NVIDIA GPU,
  // compute-bound ones 0.57 to 0.86 (../shared/reference/kernels.md); one value between.
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.35; }
  Seconds analytical_floor() const override { return microseconds(2.5); }

  std::vector<std::string> tables() const override { return {"gemm"}; }

  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    static const std::array<std::pair<std::string_view, Format>, 11> kDtypes = {
        {{"bfloat16", Format::kBf16},
         {"float16", Format::kFp16},
         {"float32", Format::kFp32},
         {"fp8", Format::kFp8},
         {"fp8_block", Format::kFp8Block},
         {"sq", Format::kInt8},
         {"int8_wo", Format::kInt8Weight},
         {"int4_wo", Format::kInt4Weight},
         {"nvfp4", Format::kNvfp4},
         {"w4a16_mxfp4", Format::kMxfp4},
         {"w4a8_mxfp4_mxfp8", Format::kMxfp4Fp8}}};
    const std::string_view dtype = row.text(row.column("dtype"));
    const auto known = std::find_if(kDtypes.begin(), kDtypes.end(),
                                    [&](const auto& d) { return d.first == dtype; });
    if (known == kDtypes.end()) return false;  // fp8_static: an old version's, superseded by fp8
    s.framework = row.text(row.column("framework"));
    // vLLM 0.24 timed block-scaled products without a graph: 60 to 300 us of host time in every
    // row.
    if (s.framework == "vllm" && dtype == "fp8_block") return false;
    Gemm g;
    g.m = row.integer(row.column("m"));
    g.n = row.integer(row.column("n"));
    g.k = row.integer(row.column("k"));
    g.format = known->second;
    s.op = g;
    s.kernel_class = kClassNames[static_cast<std::size_t>(class_index(g.format))];
    s.shape = hash_text(fmt::format("{} {} {}", g.m, g.n, g.k));
    return true;
  }

 private:
  // What a call takes to fill the GPU and drain it, and the share of an incomplete wave's idle
  // units that is lost (the libraries' heuristics choose tiles that fill it). Both from a search
  // for the least error on left-out shapes of six classes.
  static constexpr Seconds kSetup = microseconds(3);
  static constexpr double kWaveLoss = 0.3;

  // The same cuBLAS call differs by 1 to 6 % between frameworks' runs (data/kernels).
  // Torch quantises activations in kernels of their own.
  static constexpr double kSameLibrary = 0.04, kOtherQuantisation = 0.2;
  static constexpr double kCopies = 6;  // of the weight that the measuring loop cycles through
  std::array<KernelClass, kClassNames.size()> classes_;
};

}  // namespace

const KernelFamily& gemm_family() {
  static const GemmFamily family;
  return family;
}

}  // namespace orrery
