// Recurrent token mixers between the projections: the short convolution and the delta rule, gated
// (GDN) or with a gate per channel (Kimi Delta Attention, KDA).
//
// The tables time the two kernels in rows of their own. The surface is fitted on the delta rule.
// The convolution is memory-bound and added by physics (KernelPoint::rest): it moves its channels
// in and out at kConvolutionShare of the bandwidth (0.65 to 0.75 measured with SGLang and vLLM,
// Hopper and Blackwell). An op without a convolution (conv 1) is the delta rule alone.
//
// base = compute + memory of the delta rule. Decode streams the state. Prefill walks a sequence in
// chunks, with sequences and heads in parallel. Its products are too small for a faster tensor core
// to speed them up, so its compute goes by units and clock, at kFlopsPerClock each. TensorRT-LLM
// reaches 260 on H100, 237 on H200 and 239 on B200, in addition to about 1.5 times the time of the
// memory; vLLM's kernel reaches five times that rate. The surface holds the loss of parallelism.
//
// Coordinates: log2 of key heads, of value heads, of sequences, of new tokens. Mamba-2 is another
// family (state_space.cc).
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
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
  KernelKinds kinds() const override {
    return kinds_of<LinearAttentionCore>(LinearAttentionCore::Kernel::kDeltaRule);
  }

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
    const double tokens = real(a.batch) * real(a.new_tokens);
    const double channels = 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
    const Bytes moved = bytes(op);
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = moved / gpu.memory.bandwidth;
    // A repeated call moves its state at 4.5 times the bandwidth of the memory on L40S. A decode
    // step reads and writes the state in memory.
    const bool cached = warm && stays_cached(a, gpu);
    p.base =
        (a.decode ? p.compute : walk(a, gpu)) + gpu.move_time(moved, cached ? moved : Bytes(0));
    p.least = cached ? p.compute : std::max(p.compute, p.memory);
    if (a.conv > 1)
      p.rest = kConvolutionFloor + 2 * tokens * channels * bytes_per_element(a.dtype) /
                                       (gpu.memory.bandwidth * kConvolutionShare);
    p.x = {quick_log2(a.k_heads), quick_log2(a.v_heads), quick_log2(real(a.batch)),
           quick_log2(real(a.new_tokens))};
    return p;
  }

  bool warm_differs(const Op& op, const KernelGpu& gpu) const override {
    return stays_cached(std::get<LinearAttentionCore>(op), gpu);
  }

  // Decode streams the state at half to four fifths of the bandwidth.
  double analytical_inefficiency(const Op& op, const KernelGpu&) const override {
    return std::get<LinearAttentionCore>(op).decode ? 1.6 : 1.2;
  }
  Seconds analytical_floor() const override { return microseconds(6); }

 private:
  // Whether the state of a repeated call stays in the L2: up to about the size of the L2. A decode
  // step moves it twice.
  static bool stays_cached(const LinearAttentionCore& a, const KernelGpu& gpu) {
    return gpu.l2 && a.byte_count() * (a.decode ? 0.5 : 1) <= *gpu.l2 * kAllCached;
  }

  static Seconds walk(const LinearAttentionCore& a, const KernelGpu& gpu) {
    const std::optional<Hertz>& clock = gpu.peak_clock ? gpu.peak_clock : gpu.boost_clock;
    const FlopsPerSecond peak = gpu.rate(a.dtype);
    const FlopsPerSecond rate =
        clock ? FlopsPerSecond(kFlopsPerClock * gpu.compute_units * clock->value())
              : peak * kOfPeak;
    return a.flop_count() / std::min(peak, rate);
  }
  std::array<KernelClass, 4> classes_;
};

}  // namespace

const KernelFamily& linear_attention_family() {
  static const LinearAttentionFamily family;
  return family;
}

}  // namespace orrery
