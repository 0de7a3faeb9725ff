// Softmax attention: prefill (causal or full) and decode (paged).
//
// Prefill: base = setup + compute and memory, of which the longer hides most of the shorter (root
// of the squares); compute over query blocks of 128 rows with whole diagonal blocks and whole
// waves: products, exponentials, and what a block takes to begin and end. Coordinates: log2 of new
// tokens, of sequences x heads, of heads per kv head. Decode: base = setup + max(compute with heads
// packed to 16 rows, memory). Coordinates: log2 of visible keys, of sequences x kv heads, of heads
// per kv head. A class for each pair of number formats (arithmetic, KV), head size and variant.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/index.h"
#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr std::array<int, 5> kHeadDims = {64, 128, 192, 256, 512};
constexpr std::array<std::string_view, 3> kFormats = {"bf16", "fp8kv",
                                                      "fp8"};  // both 16 bit; KV in fp8; both fp8

// The head size next to this one.
int nearest_head_dim(int head_dim) {
  int best = 0;
  for (int i = 1; i < static_cast<int>(kHeadDims.size()); ++i) {
    if (std::abs(std::log2(1.0 * head_dim / kHeadDims[index(i)])) <
        std::abs(std::log2(1.0 * head_dim / kHeadDims[index(best)]))) {
      best = i;
    }
  }
  return best;
}

int head_dim_index(int head_dim) {
  switch (head_dim) {
    case kHeadDims[1]:
      return 1;
    case kHeadDims[0]:
      return 0;
    default:
      return nearest_head_dim(head_dim);
  }
}

int format_index(Dtype dtype, Dtype kv) {
  return dtype == Dtype::kFp8 ? 2 : kv == Dtype::kFp8 || kv == Dtype::kInt8 ? 1 : 0;
}

// Kernels that differ by more than their sizes: a window of keys, small or large; many heads on one
// kv head (TRT-LLM's decode kernels take up to 32; more go to one that reads the cache for
// each head).
enum class Variant { kPlain, kWindow, kWideWindow, kManyHeads, kManyHeadsWindow };
constexpr std::array<std::string_view, 5> kVariants = {"", "_window", "_wide_window", "_many_heads",
                                                       "_many_heads_window"};
constexpr std::int64_t kWideWindow = 512;
constexpr int kManyHeads = 32;

int class_index(int format, int head_dim, Variant variant) {
  return (format * static_cast<int>(kHeadDims.size()) + head_dim) *
             static_cast<int>(kVariants.size()) +
         static_cast<int>(variant);
}

std::string class_name(int format, int head_dim, Variant variant) {
  return fmt::format("{}_{}{}", kFormats[index(format)], kHeadDims[index(head_dim)],
                     kVariants[index(variant)]);
}

// Its own class, then the plain variant, 16-bit formats, other head sizes.
std::vector<KernelClass> make_classes() {
  std::vector<KernelClass> all;
  for (int f = 0; f < static_cast<int>(kFormats.size()); ++f) {
    for (int d = 0; d < static_cast<int>(kHeadDims.size()); ++d) {
      for (int v = 0; v < static_cast<int>(kVariants.size()); ++v) {
        const auto variant = static_cast<Variant>(v);
        KernelClass c;
        c.torch_error = 0.2;  // FlashAttention 2 where engines have its successors
        c.sources.push_back({class_name(f, d, variant), 1, 0});
        if (variant == Variant::kWideWindow || variant == Variant::kManyHeadsWindow)
          c.sources.push_back({class_name(f, d, Variant::kWindow), 1, 0.15});
        if (variant != Variant::kPlain)
          c.sources.push_back({class_name(f, d, Variant::kPlain), 1.1, 0.15});
        if (f != 0) c.sources.push_back({class_name(0, d, variant), 1, 0.2});
        if (f != 0 && variant != Variant::kPlain)
          c.sources.push_back({class_name(0, d, Variant::kPlain), 1.1, 0.25});
        for (int other : {1, 0, 3, 2}) {  // 128 is measured everywhere
          if (other != d) c.sources.push_back({class_name(0, other, Variant::kPlain), 1, 0.25});
        }
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

Variant variant_of(std::int64_t window) {
  return window == 0            ? Variant::kPlain
         : window > kWideWindow ? Variant::kWideWindow
                                : Variant::kWindow;
}
Variant variant_of(const PrefillAttention& a) { return variant_of(a.window); }
Variant variant_of(const DecodeAttention& a) {
  if (a.heads <= kManyHeads * a.kv_heads) return variant_of(a.window);
  return a.window > 0 ? Variant::kManyHeadsWindow : Variant::kManyHeads;
}

template <class A>
int class_of_attention(const A& a) {
  return class_index(format_index(a.dtype, a.kv_dtype), head_dim_index(a.head_dim), variant_of(a));
}

// Time to fill the GPU with blocks and to drain it; from a search as in gemm.cc.
constexpr Seconds kSetup = microseconds(2);

// Share of the exponentials of prefill that products do not hide: the value of the smallest error
// between B200 and B300, which differ in the rate of exponentials alone (0.5 gives 9.0 instead of
// 6.7 %). kBlockClocks is the time of a block of queries besides its work: short calls with many
// heads take as long on B200 as on H100.
constexpr double kSoftmaxWeight = 0.8;
constexpr double kBlockClocks = 2000;

// Kernels skip what lies before a window block by block, and split a call by all keys: time grows
// up to this many windows.
constexpr double kMostWindows = 8;

// KV heads beyond the measured ones count as sequences: the same blocks of the same bytes. Over all
// tables, calls of equal keys and sequences x KV heads, whose KV heads differ by a factor of
// 2 / 4 / 8, differ by 0.050 / 0.065 / 0.074 (decode; 0.038 / 0.050 / 0.061 prefill; the geometric
// mean of what the median and the 90 % point of the logarithms say).
constexpr std::array<AxisExchange, 1> kDecodeExchanges = {{{0, 2, 0.05}}};
constexpr std::array<AxisExchange, 1> kPrefillExchanges = {{{0, 2, 0.04}}};

class PrefillFamily : public KernelFamily {
 public:
  PrefillFamily() : classes_(make_classes()) {}
  std::string_view name() const override { return "attention_prefill"; }
  KernelKinds kinds() const override { return kinds_of<PrefillAttention>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 1, 2, 3, 4, 6},
            log2_of({1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96}),
            {0, 1, 2, 3, 4, 5, 6, 7, 8},
            log2_of({1, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 10240,
                     12288, 16384})};
  }
  std::span<const AxisExchange> axis_exchanges() const override { return kPrefillExchanges; }
  ExtrapolationError extrapolation_error() const override {
    return {.per_doubling = 0.10, .most = 0.30};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return class_of_attention(std::get<PrefillAttention>(op));
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<PrefillAttention>(op);
    constexpr double kBlock = 128;
    KernelPoint p;
    const Bytes moved = bytes(op);
    p.compute = flops(op) / gpu.rate(a.dtype);
    p.memory = moved / gpu.memory.bandwidth;
    // Blocks of queries, each against whole blocks of keys.
    const double n = real(a.new_tokens), blocks = ceiling(n / kBlock);
    const double padded_tokens = blocks * kBlock;
    double pairs = attended_pairs(a.new_tokens, a.past, a.window, a.causal);
    if (a.causal && a.window == 0)
      pairs = padded_tokens * (real(a.past) + (padded_tokens + kBlock) / 2);
    else
      pairs = pairs * padded_tokens / n + (a.causal ? padded_tokens * kBlock / 2 : 0);
    const double waste = pairs / attended_pairs(a.new_tokens, a.past, a.window, a.causal);
    const double tiles = real(a.batch) * a.heads * blocks;
    // Few long blocks: no more than one block runs on a unit at a time.
    const double waves =
        std::min(wave_factor(tiles, gpu.compute_units), gpu.compute_units / tiles + 1);
    const Bytes cached = warm ? gpu.cached_on_repeat(moved) : gpu.if_cached(moved);
    Seconds computed = p.compute * waste;
    if (const double exponentials = gpu.exponentials_per_second(); exponentials > 0) {
      computed += Seconds(kSoftmaxWeight * pairs * real(a.batch) * a.heads / exponentials +
                          kBlockClocks * tiles / gpu.clocks_per_second());
    }
    computed = computed * waves;
    const Seconds from_memory = gpu.move_time(moved, cached);
    p.base = kSetup + Seconds(std::sqrt(computed.value() * computed.value() +
                                        from_memory.value() * from_memory.value()));
    p.least = std::max(p.compute, gpu.least_move_time(moved, cached));
    p.x = {quick_log2(a.kv_heads), quick_log2(1.0 * a.heads / a.kv_heads),
           quick_log2(real(a.batch)), quick_log2(n)};
    // No kernel table has a past. 0.4 of its doublings count, because on the measured layers (562
    // prefills on two GPUs, most with a past; docs/data.md) the 50 and 90 % intervals hold 60 and
    // 89 % of the rows without it.
    if (a.past > 0) p.extrapolated = 0.4 * quick_log2(1 + real(a.past) / n);
    return p;
  }

  // FlashAttention reaches 35 to 75 % of the dense peak on long prompts (papers of FA2, FA3).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 2.0; }
  Seconds analytical_floor() const override { return microseconds(8); }

 private:
  std::vector<KernelClass> classes_;
};

class DecodeFamily : public KernelFamily {
 public:
  DecodeFamily() : classes_(make_classes()) {}
  std::string_view name() const override { return "attention_decode"; }
  KernelKinds kinds() const override { return kinds_of<DecodeAttention>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 1, 2, 3, 4, 6},
            log2_of({1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96}),
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
            {1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}};
  }
  std::span<const AxisExchange> axis_exchanges() const override { return kDecodeExchanges; }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    return class_of_attention(std::get<DecodeAttention>(op));
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<DecodeAttention>(op);
    // Query heads of one kv head, and the queries of a sequence, are packed into tiles of 16 rows.
    constexpr double kRows = 16;
    const Bytes moved = a.byte_count();
    const Seconds compute = a.flop_count() / gpu.rate(a.dtype);
    const double group = 1.0 * a.heads / a.kv_heads, rows = group * a.queries;
    const Seconds computed = compute * (ceiling(rows / kRows) * kRows / rows);
    const Bytes cached = gpu.cached_on_repeat(moved);
    const MoveTimes busy = gpu.longest(computed, moved, Bytes(0), cached);
    const Seconds base = kSetup + busy.once, again = kSetup + busy.repeated;
    const Seconds least = std::max(compute, gpu.least_move_time(moved, warm ? cached : Bytes(0)));
    const double keys =
        a.window > 0 ? std::min(a.context, kMostWindows * real(a.window)) : a.context;
    const double kv_heads = quick_log2(a.kv_heads);
    return {{kv_heads, quick_log2(a.heads) - kv_heads, quick_log2(a.batch), quick_log2(keys)},
            compute,
            gpu.by_sheet(moved),
            warm ? again : base,
            again,
            least,
            Seconds(0),
            a.queries > 1 ? quick_log2(a.queries) : 0};  // tables: one a sequence
  }

  Seconds fill_and_drain() const override { return kSetup; }
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(8); }

 private:
  std::vector<KernelClass> classes_;
};

}  // namespace

const KernelFamily& prefill_attention_family() {
  static const PrefillFamily family;
  return family;
}

const KernelFamily& decode_attention_family() {
  static const DecodeFamily family;
  return family;
}

}  // namespace orrery
