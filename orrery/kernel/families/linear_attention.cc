// Recurrent token mixers between the projections: the short convolution and the delta rule, gated
// (GDN) or with a gate a channel (Kimi, KDA).
//
// The tables time the two kernels in rows of their own. The delta rule is what the surface is
// fitted on; the convolution is memory-bound and added by physics (KernelPoint::rest): it moves its
// channels in and out at kConvolutionShare of the bandwidth (0.65 to 0.75 measured with SGLang and
// vLLM, Hopper and Blackwell).
//
// base = compute + memory of the delta rule. Decode streams the state. Prefill walks a sequence in
// chunks, sequences and heads in parallel, in products too small for a faster tensor core to make
// faster: its compute goes by units and clock, kFlopsPerClock each (TensorRT-LLM: 260 on H100, 237
// on H200, 239 on B200, beside about one and a half times the memory's time; vLLM's kernel five
// times as many). The surface holds what parallelism is lost. Coordinates: log2 of heads, of
// sequences, of new tokens. Mamba-2 is another family (state_space.cc).
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/quick_math.h"
#include "orrery/base/random.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

constexpr double kConvolutionShare = 0.7;
constexpr double kFlopsPerClock = 250;
constexpr double kOfPeak = 0.06;  // the same on H100, for GPUs whose clock is not known
constexpr Seconds kConvolutionFloor = microseconds(2);  // SGLang and vLLM, decode of one sequence

class LinearAttentionFamily : public KernelFamily {
 public:
  LinearAttentionFamily() {
    classes_[0].sources = {{"gdn_prefill"}};
    classes_[1].sources = {{"gdn_decode"}};
    classes_[2].sources = {{"kda_prefill"}, {"gdn_prefill", 1.2, 0.3}};
    classes_[3].sources = {{"kda_decode"}, {"gdn_decode", 1, 0.2}};
  }

  std::string_view name() const override { return "linear_attention"; }
  KernelKinds kinds() const override { return kinds_of(KernelKind::kLinearAttention); }

  std::vector<std::vector<double>> axes() const override {
    return {{0, 1, 2, 3, 4},
            log2_of({2, 4, 6, 8, 12, 16, 24, 32, 48, 64}),
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  }

  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const auto& a = std::get<LinearAttentionCore>(op);
    return (a.kind == LinearAttentionCore::Kind::kKimiDelta ? 2 : 0) + (a.decode ? 1 : 0);
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<LinearAttentionCore>(op);
    const double tokens = static_cast<double>(a.batch) * static_cast<double>(a.new_tokens);
    const double channels = 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
    const Bytes moved = bytes(op);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = moved / gpu.memory.bandwidth;
    // The state of a repeated call stays in the L2 up to about its size (L40S: 4.5 times the
    // memory's rate); a decode step reads and writes it.
    const bool cached = warm && gpu.l2 && moved * (a.decode ? 0.5 : 1) <= *gpu.l2 * 0.9;
    p.base =
        (a.decode ? p.compute : walk(a, gpu)) + gpu.move_time(moved, cached ? moved : Bytes(0));
    p.least = cached ? p.compute : std::max(p.compute, p.memory);
    p.rest = kConvolutionFloor + 2 * tokens * channels * bytes_per_element(a.dtype) /
                                     (gpu.memory.bandwidth * kConvolutionShare);
    p.x = {quick_log2(a.k_heads), quick_log2(a.v_heads), quick_log2(static_cast<double>(a.batch)),
           quick_log2(static_cast<double>(a.new_tokens))};
    return p;
  }

  // Decode streams the state at half to four fifths of the bandwidth.
  double analytical_inefficiency(const Op& op, const KernelGpu&) const override {
    return std::get<LinearAttentionCore>(op).decode ? 1.6 : 1.2;
  }
  Seconds analytical_floor() const override { return microseconds(6); }

  std::vector<std::string> tables() const override { return {"linear_attention"}; }

  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    // Speculative verification has no op; the Mamba-2 table holds the convolution alone.
    const std::string_view phase = row.text(row.column("phase")),
                           table = row.text(row.column("table"));
    if (table == "mamba2" || (phase != "context" && phase != "generation")) return false;
    if (row.text(row.column("kernel_source")).starts_with("causal_conv1d"))
      return false;  // causal_convolution.cc
    LinearAttentionCore a;
    if (table == "kda") a.kind = LinearAttentionCore::Kind::kKimiDelta;
    a.decode = phase == "generation";
    a.batch = row.integer(row.column("batch"));
    a.new_tokens = a.decode ? 1 : row.integer(row.column("seq"));
    a.k_heads = static_cast<int>(row.number(row.column("k_heads")));
    a.k_dim = static_cast<int>(row.number(row.column("k_dim")));
    a.v_heads = static_cast<int>(row.number(row.column("v_heads")));
    a.v_dim = static_cast<int>(row.number(row.column("v_dim")));
    a.conv = static_cast<int>(row.integer(row.column("d_conv")));
    const double channels = 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
    if (is_disturbed(row, static_cast<double>(a.batch * a.new_tokens) * channels)) return false;
    s.framework = row.text(row.column("framework"));
    s.op = a;
    s.kernel_class = classes_[static_cast<std::size_t>(class_of(s.op))].sources.front().name;
    s.shape = hash_text(fmt::format("{} {} {} {} {} {} {}", a.decode, a.batch, a.new_tokens,
                                    a.k_heads, a.k_dim, a.v_heads, a.v_dim));
    return true;
  }

 private:
  static Seconds walk(const LinearAttentionCore& a, const KernelGpu& gpu) {
    const std::optional<Hertz>& clock = gpu.peak_clock ? gpu.peak_clock : gpu.boost_clock;
    const FlopsPerSecond peak = gpu.rate(a.dtype);
    const FlopsPerSecond rate =
        clock ? FlopsPerSecond(kFlopsPerClock * gpu.compute_units * clock->value())
              : peak * kOfPeak;
    return flops(a) / std::min(peak, rate);
  }
  std::array<KernelClass, 4> classes_;
};

}  // namespace

// SGLang 0.5.14's prefill on H200, from 128 MiB of values: its convolution takes two to four times
// as long as vLLM's same kernel there, and three times as long as its own on H100; on H100 and B200
// both frameworks agree within 10 % at every size. The delta rule shows the same. Memory shared
// with another process, or throttled: nothing that a user's H200 would repeat.
bool is_disturbed(const CsvReader& row, double values) {
  return values >= 0x1p26 && row.text(row.column("system")) == "h200_sxm" &&
         row.text(row.column("framework")) == "sglang" &&
         row.text(row.column("version")) == "0.5.14" && row.text(row.column("phase")) == "context";
}

const KernelFamily& linear_attention_family() {
  static const LinearAttentionFamily family;
  return family;
}

}  // namespace orrery
