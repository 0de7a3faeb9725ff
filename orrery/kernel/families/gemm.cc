// Matrix products.
//
// base = max(compute, memory): compute is padded to tiles and whole waves for the best of a few
// tile shapes, memory moves every operand once. Coordinates: log2 of m, n, k. A class for each
// number format.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/product_tiles.h"

namespace orrery {
namespace {

// Attainable share of the int8 peak for llama.cpp, which multiplies 4-bit blocks in int8 with a
// scale per 32 values. Its prompt processing of Llama-3-8B reaches 15 to 23 % of the peak on A100,
// A40, RTX 3090 and 4090 (llama.cpp benchmarks, docs/data.md).
constexpr double kBlockInt8Share = 0.33;
// The same without int8 hardware, relative to products of plain 16-bit weights: prompts of q4_0 run
// at 0.88 of the rate of fp16 on M1 Max and M2 Ultra
// (github.com/ggml-org/llama.cpp/discussions/4167).
constexpr double kBlockWideShare = 0.88;
// Rows up to which llama.cpp multiplies blocks by matrix-vector kernels, which compute no padded
// tiles (MMVQ_MAX_BATCH_SIZE, ggml/src/ggml-cuda/mmvq.cuh).
constexpr double kVectorRows = 8;

// Relative error of PyTorch's products in place of an engine's: the same cuBLAS call differs by 1
// to 6 % between frameworks' runs (docs/reference/kernels.md, section Repeatability);
// PyTorch quantises activations in kernels of their own.
constexpr double kSameLibrary = 0.04, kOtherQuantisation = 0.2;

// The kernel classes: the number formats that each serves, the surfaces that may serve it, and the
// error of PyTorch's kernel.
//
// Factors are medians over A100, L40S, H100 and H200 of the same calls in both formats
// (tests/accuracy/substitute_accuracy_test.cc). fp8 falls back on bf16 where there is no fp8
// hardware and kernels are weight-only, as int8_weight does. No sweep of those GPUs has 4-bit
// floats or llama.cpp's formats: their factors are by analogy.
struct FormatClass {
  std::vector<Format> formats;
  KernelClass kernel_class;
};
std::vector<FormatClass> format_classes() {
  using enum Format;
  return {
      {{kBf16, kFp16}, {{{"bf16"}}, kSameLibrary}},
      {{kFp8}, {{{"fp8"}, {"bf16", 1.25, 0.25}}, kOtherQuantisation, true}},
      {{kFp8Block},
       {{{"fp8_block"}, {"fp8", 1.05, 0.15}, {"bf16", 1.25, 0.3}}, kOtherQuantisation}},
      {{kInt8}, {{{"int8"}, {"fp8", 1.0, 0.2}, {"bf16", 1.25, 0.3}}, kOtherQuantisation}},
      {{kInt8Weight}, {{{"int8_weight"}, {"bf16", 1.25, 0.35}}, kOtherQuantisation}},
      {{kInt4Weight}, {{{"int4_weight"}, {"bf16", 1.2, 0.35}}, kOtherQuantisation}},
      {{kNvfp4}, {{{"nvfp4"}, {"fp8", 1.0, 0.25}, {"bf16", 1.4, 0.3}}, kOtherQuantisation, true}},
      {{kMxfp4},
       {{{"mxfp4"}, {"int4_weight", 1.0, 0.2}, {"bf16", 1.25, 0.25}}, kOtherQuantisation}},
      {{kMxfp4Fp8}, {{{"mxfp4_fp8"}, {"fp8", 1.1, 0.25}, {"bf16", 1.3, 0.3}}, kOtherQuantisation}},
      {{kInt4Fp8}, {{{"int4_fp8"}, {"fp8", 1.1, 0.25}, {"bf16", 1.3, 0.3}}, kOtherQuantisation}},
      {{kFp32, kTf32}, {{{"fp32"}, {"bf16", 1.0, 0.25}}, 0}},
      {{kQ4K, kQ2K, kQ3K, kQ5K, kQ6K, kQ4Plain, kQ8Plain, kIq4Xs},
       {{{"q4_k"}, {"int4_weight", 1.0, 0.25}, {"bf16", 1.0, 0.3}}, 0}},
  };
}

class GemmFamily : public KernelFamily {
 public:
  // `always_whole`: products of every format are of whole tiles.
  explicit GemmFamily(bool always_whole = false)
      : always_whole_(always_whole), class_of_format_(format_names().size(), -1) {
    for (FormatClass& c : format_classes()) {
      for (const Format f : c.formats)
        class_of_format_[index(f)] = static_cast<int>(classes_.size());
      classes_.push_back(std::move(c.kernel_class));
    }
  }

  std::string_view name() const override { return "gemm"; }
  KernelKinds kinds() const override { return kinds_of<Gemm>(); }

  std::vector<std::vector<double>> axes() const override {
    // The sizes of the sweeps. At multiples of tiles m also has a node for the next row, where
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

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return class_of_format_[index(std::get<Gemm>(op).format)];
  }

  bool same_kernels(const KernelClass& c, const KernelGpu& a, const KernelGpu& b) const override {
    if (has_whole_tiles(a) == has_whole_tiles(b)) return true;
    for (std::size_t f = 0; f < class_of_format_.size(); ++f) {
      const int its = class_of_format_[f];
      if (its >= 0 && is_block_scaled(static_cast<Format>(f)) && &classes_[index(its)] == &c)
        return false;
    }
    return true;
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& g = std::get<Gemm>(op);
    const double m = real(g.m), n = real(g.n), k = real(g.k), batch = real(g.batch);
    const Bytes moved = g.byte_count();
    const FormatProperties& format = properties(g.format);
    const Flops work = g.flop_count();
    const double share = !format.gguf                      ? 1
                         : gpu.supports(format.arithmetic) ? kBlockInt8Share
                                                           : kBlockWideShare;
    const FlopsPerSecond rate = gpu.rate(format.arithmetic) * share;
    const Seconds compute = work / rate;
    // Operands and results of a decode step stay in the cache; weights do not, unless the call is
    // repeated on them.
    const Bytes weights = static_cast<double>(g.weight) * (k * n * batch) * format.weight;
    const Bytes cached = gpu.if_cached(moved - weights);
    const Bytes cached_again = cached + gpu.cached_on_repeat(weights * kCopies) * (1 / kCopies);
    const Flops padded(2 * k *
                       (of_whole_tiles(g, gpu) ? whole_tile_results(m, n, batch, gpu)
                                               : padded_results(m, n, batch, gpu)));
    Seconds computed = (format.gguf && m <= kVectorRows ? work : padded) / rate;
    if (format.arithmetic == Dtype::kFp32)
      computed = std::max(computed, padded / gpu.sustained_fp32());
    const MoveTimes busy = gpu.longest(computed, moved, cached, cached_again);
    const Seconds base = kSetup + busy.once, again = kSetup + busy.repeated;
    const Seconds least =
        std::max(compute, gpu.least_move_time(moved, warm ? cached_again : cached));
    const auto [x_m, x_n] = quick_log2(m, n * batch);
    return {{x_m, x_n, quick_log2(k), 0},
            compute,
            gpu.by_sheet(moved),
            warm ? again : base,
            again,
            least,
            Seconds(0)};
  }

  // Few weights stay in the L2 where many rows of activations do not.
  bool warm_differs(const Op& op, const KernelGpu& gpu) const override {
    const auto& g = std::get<Gemm>(op);
    const double weights = static_cast<double>(g.weight) * real(g.k) * real(g.n) * real(g.batch);
    return gpu.l2 && g.weight &&
           weights * properties(g.format).weight * kCopies <= *gpu.l2 * kBeyondCache;
  }

  Seconds fill_and_drain() const override { return kSetup; }
  ExtrapolationError extrapolation_error() const override {
    return {.per_doubling = 0.16, .most = 0.30};
  }

  // Memory-bound bf16 products reach 0.77 to 0.88 of the data sheet on every NVIDIA GPU,
  // compute-bound ones 0.57 to 0.86 (docs/reference/kernels.md, section Portable efficiency). The
  // inverse of 1.35 is a value between.
  double analytical_inefficiency(const Op& op, const KernelGpu& gpu) const override {
    const auto& g = std::get<Gemm>(op);
    // A single wave of whole tiles runs at the peak rate, with power to spare.
    const bool one_wave =
        of_whole_tiles(g, gpu) &&
        ceiling(real(g.m) / kWholeTile) * ceiling(real(g.n) / kWholeTile) * real(g.batch) <=
            gpu.units();
    return one_wave ? 1.05 : 1.35;
  }
  Seconds analytical_floor() const override { return microseconds(2.5); }

 private:
  bool of_whole_tiles(const Gemm& g, const KernelGpu& gpu) const {
    return always_whole_ || (has_whole_tiles(gpu) && is_block_scaled(g.format));
  }

  // Time to fill the GPU and to drain it, from a search for the least error on left-out shapes of
  // six classes.
  static constexpr Seconds kSetup = microseconds(3);

  static constexpr double kCopies = 6;  // of the weight that the measuring loop cycles through
  const bool always_whole_;
  std::vector<KernelClass> classes_;
  std::vector<int> class_of_format_;
};

}  // namespace

const KernelFamily& gemm_family() {
  static const GemmFamily family;
  return family;
}

const KernelFamily& whole_tile_gemm_family() {
  static const GemmFamily family(true);
  return family;
}

}  // namespace orrery
