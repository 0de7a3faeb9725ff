// Routed experts of a MoE layer: routing, permutation, the expert products and the weighted sum, in
// one op.
//
// base = compute + memory + passes over tokens and slots: the kernels of a layer run one after the
// other, and products of few rows an expert overlap little. Coordinates: log2 of tokens an expert,
// of experts of the rank, of one expert's inner width on the rank, of the model width. A class for
// each number format, split by expert parallelism or not, and balanced or skewed loads. The
// measured `balanced` rows serve experts in turn, so that few tokens reach more experts than a
// random draw does: the surface of the balanced classes holds that difference.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/product_tiles.h"

namespace orrery {
namespace {

// Bytes moved besides the expert products, per element of a row of the model width: for every token
// of the group (routing, quantisation, the zeroed output) and of every pair of token and expert on
// the rank (gather, quantisation, scatter, weighted sum); and what each of the half-dozen kernels
// of a layer takes to fill the GPU. Rounded from a search for the least error on rows left out
// (H100, B200; all frameworks); the surface holds the rest.
constexpr double kTokenBytes = 16, kSlotBytes = 32;
constexpr Seconds kSetup = microseconds(4);

constexpr std::array<std::string_view, 9> kFormats = {"bf16",        "fp8",         "fp8_block",
                                                      "int8_weight", "int4_weight", "nvfp4",
                                                      "mxfp4",       "mxfp4_fp8",   "int4_fp8"};

std::size_t format_index(Format f) {
  switch (f) {
    case Format::kFp32:
    case Format::kTf32:
    case Format::kFp16:
    case Format::kBf16:
      return 0;
    case Format::kFp8:
    case Format::kInt8:
      return 1;
    case Format::kFp8Block:
      return 2;
    case Format::kInt8Weight:
      return 3;
    case Format::kInt4Weight:
      return 4;
    case Format::kNvfp4:
      return 5;
    case Format::kMxfp4:
      return 6;
    case Format::kMxfp4Fp8:
      return 7;
    case Format::kInt4Fp8:
      return 8;
    default:
      return 4;  // the K-quants of llama.cpp: weight-only, about four bits
  }
}

// Formats whose surface may serve another one, with the factor of their time and the error.
// Factors of bf16, fp8, fp8_block and int4_weight: medians over A100, L40S, H100 and H200 of the
// same calls in both formats (tests/accuracy/substitute_accuracy_test.cc); the others have no such
// pair there: by analogy.
struct Substitute {
  std::size_t format;
  double factor, error;
};
constexpr std::array<std::array<Substitute, 3>, kFormats.size()> kSubstitutes = {{
    {{{2, 1.0, 0.25}, {1, 1.0, 0.25}, {6, 1.0, 0.4}}},   // bf16
    {{{2, 1.0, 0.15}, {0, 1.0, 0.2}, {5, 1.0, 0.3}}},    // fp8
    {{{1, 1.1, 0.15}, {0, 1.0, 0.2}, {5, 1.0, 0.3}}},    // fp8_block
    {{{0, 1.1, 0.2}, {2, 1.1, 0.25}, {1, 1.1, 0.25}}},   // int8_weight
    {{{6, 1.0, 0.25}, {0, 1.1, 0.3}, {2, 1.4, 0.35}}},   // int4_weight
    {{{7, 1.0, 0.2}, {2, 1.2, 0.3}, {1, 1.2, 0.3}}},     // nvfp4
    {{{4, 1.0, 0.25}, {7, 1.0, 0.3}, {0, 1.25, 0.35}}},  // mxfp4
    {{{5, 1.0, 0.2}, {2, 1.1, 0.28}, {6, 1.0, 0.3}}},    // mxfp4_fp8
    {{{4, 1.0, 0.25}, {6, 1.0, 0.3}, {2, 1.2, 0.35}}},   // int4_fp8
}};

std::string class_name(std::size_t format, bool spread, bool skewed) {
  return fmt::format("{}{}{}", kFormats[format], spread ? "_ep" : "", skewed ? "_skewed" : "");
}

std::size_t class_index(const MoeExperts& m) {
  return format_index(m.format) * 4 + (m.ep > 1 ? 2 : 0) + (m.skew > 0 ? 1 : 0);
}

std::vector<KernelClass> make_classes() {
  std::vector<KernelClass> all;
  for (std::size_t f = 0; f < kFormats.size(); ++f) {
    for (bool spread : {false, true}) {
      for (bool skewed : {false, true}) {
        KernelClass c;
        c.sources.push_back({class_name(f, spread, skewed), 1, 0});
        c.sources.push_back({class_name(f, spread, !skewed), 1, 0.1});
        for (const Substitute& s : kSubstitutes[f]) {
          c.sources.push_back({class_name(s.format, spread, skewed), s.factor, s.error});
        }
        c.sources.push_back({class_name(f, !spread, skewed), 1, 0.3});
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

// The experts of one model; never 0.
std::uint64_t series_key(const MoeExperts& m) {
  std::uint64_t key = 0;
  for (const int size : {m.hidden, m.intermediate, m.experts, m.top_k})
    key = (key << 16) ^ static_cast<std::uint64_t>(size);
  return key;
}

class MoeFamily : public KernelFamily {
 public:
  std::string_view name() const override { return "moe"; }
  KernelKinds kinds() const override { return kinds_of<MoeExperts>(); }

  std::vector<std::vector<double>> axes() const override {
    return {{-6, -3, -1, 0, 1, 2, 3, 5, 6.5, 8, 12},
            {0, 3, 6, 7.5, 9.5},
            {6, 8.5, 10.5, 13},
            {11, 12.7}};
  }

  // A series for each model's experts, along tokens and the share of a rank (tp or ep).
  std::vector<std::vector<double>> series_axes() const override {
    return {{0, 1, 2, 3, 4, 5},
            {0, 1, 2, 3, 4, 5, 6, 7, 8},
            log2_of({1,   2,   4,    8,    16,   32,   64,   128,  192,   256,   384,
                     512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536})};
  }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return static_cast<int>(class_index(std::get<MoeExperts>(op)));
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& m = std::get<MoeExperts>(op);
    const double tokens = real(m.tokens), hidden = m.hidden;
    const Bytes moved = bytes(op);
    const Flops work = flops(op);
    KernelPoint p;
    p.compute = work / gpu.rate(arithmetic(op));
    p.memory = moved / gpu.memory.bandwidth;
    const Seconds from_memory = gpu.move_time(moved, warm ? gpu.cached_on_repeat(moved) : Bytes(0));
    // Weights of a repeated call stay in the L2 up to about its size, at up to 4.5 times the
    // memory's rate (L40S).
    const bool cached = warm && gpu.l2 && moved <= *gpu.l2 * 0.9;
    p.least = cached ? p.compute : std::max(p.compute, p.memory);
    const double slots =
        work.value() / (2.0 * (m.gated ? 3 : 2) * m.hidden * m.intermediate / m.tp);
    const Bytes passes((kTokenBytes * tokens + kSlotBytes * slots) * hidden);
    p.base = kSetup + p.compute + from_memory + passes / gpu.memory.bandwidth;
    // The first tile of either product, which nothing hides.
    if (has_whole_tiles(gpu) && is_block_scaled(m.format))
      p.first_tile =
          whole_tile_time(hidden + 1.0 * m.intermediate / m.tp, gpu.rate(arithmetic(op)), gpu);
    p.x = {quick_log2(tokens * m.top_k / m.experts), quick_log2(1.0 * m.experts / m.ep),
           quick_log2(1.0 * m.intermediate / m.tp), quick_log2(hidden)};
    p.series = series_key(m);
    p.along = {quick_log2(m.tp), quick_log2(m.ep), quick_log2(tokens)};
    return p;
  }

  // Experts' products reach 0.75 to 0.9 of the bandwidth, 0.4 to 0.7 of the peak rate (measured
  // tables); base already adds the two.
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.3; }
  Seconds analytical_floor() const override { return microseconds(15); }  // 15 to 27 us measured

 private:
  std::vector<KernelClass> classes_ = make_classes();
};

}  // namespace

const KernelFamily& moe_family() {
  static const MoeFamily family;
  return family;
}

}  // namespace orrery
