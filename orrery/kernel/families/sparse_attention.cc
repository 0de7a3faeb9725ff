// Whole blocks of sparse attention: DSA (DeepSeek-V3.2, GLM-5), CSA and HCA (DeepSeek-V4), MSA
// (MiniMax-M3).
//
// base = setup + compute + memory of the block (its kernels run one after the other). Coordinates:
// log2 of the new tokens of all sequences, of a sequence's context, of the rank's heads, of
// sequences. A class for each kind, phase, format of the projections and of the cache. Compute of
// DeepSeek-V4's and MiniMax-M3's blocks is that of the projections in their format, of attention in
// 16 bits (FlashMLA widens an fp8 cache), and of the indexer's scores in fp8 (DeepSeek-V4, where
// the GPU has it) or 16 bits. `least` is half of the roofline: short contexts and repeated calls
// read fewer entries than distinct choices would.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/index.h"
#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

using Block = SparseAttentionBlock;
// The last class is DSA's prefill of contexts that are not longer than the choice of keys, which
// runs as dense attention.
constexpr std::array<std::string_view, 7> kKinds = {"dsa", "dsa_reuse", "csa",      "hca",
                                                    "msa", "window",    "dsa_dense"};
constexpr std::size_t kHeavy = 3, kWindow = 5, kDense = 6;
constexpr std::array<std::string_view, 3> kSparseFormats = {"bf16", "fp8_block", "nvfp4"};

struct ClassKey {
  std::size_t kind;
  bool decode;
  std::size_t format;
  bool fp8_cache;
  std::size_t index() const {
    return ((kind * 2 + (decode ? 1 : 0)) * kSparseFormats.size() + format) * 2 +
           (fp8_cache ? 1 : 0);
  }
  std::string name() const {
    return fmt::format("{}_{}_{}{}", kKinds[kind], decode ? "decode" : "prefill",
                       kSparseFormats[format], fp8_cache ? "_fp8kv" : "");
  }
};

bool is_dense(const Block& b) {
  return !b.decode && (b.kind == Block::Kind::kDsa || b.kind == Block::Kind::kDsaReuse) &&
         b.past + real(b.new_tokens) <= b.top_k;
}

Seconds compute_time(const Block& b, const KernelGpu& gpu) {
  if (b.kind == Block::Kind::kDsa || b.kind == Block::Kind::kDsaReuse)
    return b.flop_count() / gpu.rate(b.arithmetic());
  const SparseAttentionWork w = work(b);
  const double rows = real(b.batch) * real(b.new_tokens) + real(b.padding);
  const bool fp8 = b.kind != Block::Kind::kMsa && gpu.supports(Dtype::kFp8);
  return Flops(2 * rows * w.projections()) / gpu.rate(b.arithmetic()) +
         Flops(2 * real(b.batch) * w.attention) / gpu.rate(Dtype::kBf16) +
         Flops(2 * real(b.batch) * w.index_score) / gpu.rate(fp8 ? Dtype::kFp8 : Dtype::kBf16);
}

ClassKey key_of(const Block& b) {
  const std::size_t format = b.format == Format::kNvfp4                                  ? 2
                             : b.format == Format::kFp8Block || b.format == Format::kFp8 ? 1
                                                                                         : 0;
  return {is_dense(b) ? kDense : static_cast<std::size_t>(b.kind), b.decode, format,
          b.kv_dtype == Dtype::kFp8};
}

class SparseAttentionFamily : public KernelFamily {
 public:
  SparseAttentionFamily() {
    for (std::size_t k = 0; k < kKinds.size(); ++k) {
      for (bool decode : {false, true}) {
        for (std::size_t f = 0; f < kSparseFormats.size(); ++f) {
          for (bool fp8 : {false, true}) {
            KernelClass c;
            c.sources.push_back({ClassKey{k, decode, f, fp8}.name(), 1, 0});
            c.sources.push_back({ClassKey{k, decode, f, !fp8}.name(), 1, 0.15});
            for (std::size_t other = 0; other < kSparseFormats.size(); ++other) {
              if (other != f) c.sources.push_back({ClassKey{k, decode, other, fp8}.name(), 1, 0.2});
            }
            // Layers without entries are in no table.
            if (k == kWindow)
              c.sources.push_back({ClassKey{kHeavy, decode, f, fp8}.name(), 1, 0.2});
            if (k == kWindow)
              c.sources.push_back({ClassKey{kHeavy, decode, f, !fp8}.name(), 1, 0.25});
            if (k == kDense) c.sources.push_back({ClassKey{0, decode, f, fp8}.name(), 1, 0.3});
            classes_.push_back(std::move(c));
          }
        }
      }
    }
  }

  std::string_view name() const override { return "sparse_attention"; }
  KernelKinds kinds() const override { return kinds_of<SparseAttentionBlock>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 4, 8, 10, 12, 13, 14, 16},
            {0, 9, 11, 13, 14, 16, 18, 20},
            {1, 4, 5.5, 7},
            {0, 3, 6, 10}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return static_cast<int>(key_of(std::get<Block>(op)).index());
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& b = std::get<Block>(op);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = bytes(op) / gpu.memory.bandwidth;
    const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : Bytes(0);
    p.base = kSetup + compute_time(b, gpu) + gpu.move_time(bytes(op), cached);
    p.least = 0.5 * std::max(p.compute, gpu.least_move_time(bytes(op), cached));
    p.x = {quick_log2(real(b.batch) * real(b.new_tokens)), quick_log2(b.past + real(b.new_tokens)),
           quick_log2(b.heads), quick_log2(real(b.batch))};
    return p;
  }

  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 2.5; }
  Seconds analytical_floor() const override { return microseconds(60); }

 private:
  static constexpr Seconds kSetup = microseconds(20);
  std::vector<KernelClass> classes_;
};

}  // namespace

const KernelFamily& sparse_attention_family() {
  static const SparseAttentionFamily family;
  return family;
}

}  // namespace orrery
