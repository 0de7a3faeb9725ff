// The scan of Mamba-2 (state-space duality; Dao & Gu 2024, arXiv:2405.21060, section 6). No table
// times it: physics alone, with the error of that tier.
//
// Prefill computes a sequence in chunks of Q tokens, in five kernels (mamba_ssm
// ops/triton/ssd_*.py, which vLLM and SGLang took over); H heads of P channels, state N, G groups:
//
//   kernel          FLOPs a token         moves
//   gates           -                     dt in, two fp32 arrays of H out
//   chunk states    2 H P N               x, B; a state of H P N fp32 a chunk out
//   state passing   -                     states in and out; one chunk after the other
//   C B             2 Q G N               B, C; Q x Q fp32 a chunk and group out
//   chunk scan      2 Q H P + 2 H P N     x, C, states, C B; y out
//
// base is the sum of the kernels, each the longer of its compute (whole waves of a block a chunk
// and head) and its memory. Decode is one kernel that reads and writes the state. The convolution
// is an op of its own.
//
// Check: decode of Nemotron-Nano-12B on H100 (vLLM; energy tables, docs/data.md) grows by 0.136 ms
// a sequence; the state of its 28 layers in fp32, read and written at 0.8 of the bandwidth, takes
// 0.109 ms of that, the keys of its attention layers the rest.
#include <algorithm>
#include <cmath>

#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

// Share of the peak of products of at most 64 to 128 a side with exponentials between. These five
// kernels of vLLM compute 12.9 to 10.7 million tokens/s on an H100 (128 heads of 64, state 128, one
// group, chunks of 256, 16,384 to 262,144 tokens; github.com/vllm-project/vllm, pull request
// 27299). These are 78 to 93 ns a token, of which all but the chunk scan's products takes 27 by
// this file. The scan alone reaches 0.10 in TileLang on an H200 (github.com/tile-ai/TileOPs, pull
// request 1608).
constexpr double kTensorShare = 0.13;
constexpr Seconds kStart = microseconds(2);   // of one kernel in a graph
constexpr Seconds kPass = microseconds(0.5);  // a state from one chunk to the next: a round trip
constexpr double kSetupKernels = 4;           // without the first, whose start is the floor
constexpr Bytes kFp32{4};

class StateSpaceFamily : public KernelFamily {
 public:
  std::string_view name() const override { return "state_space"; }
  KernelKinds kinds() const override {
    return kinds_of<LinearAttentionCore>(LinearAttentionCore::Kernel::kStateSpace);
  }
  std::vector<std::vector<double>> axes() const override { return {{0}}; }
  std::span<const KernelClass> classes() const override { return {}; }
  int class_of(const Op&) const override { return -1; }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& a = std::get<LinearAttentionCore>(op);
    const auto held = [&](Bytes b) { return warm ? gpu.cached_on_repeat(b) : gpu.if_cached(b); };
    KernelPoint p;
    p.compute = flops(op) / gpu.rate(arithmetic(op));
    p.memory = bytes(op) / gpu.memory.bandwidth;
    const Bytes cached = held(bytes(op));
    p.least = std::max(p.compute, gpu.least_move_time(bytes(op), cached));
    p.base =
        a.decode ? std::max(p.compute, gpu.move_time(bytes(op), cached)) : prefill(a, gpu, held);
    p.base = std::max(p.base, p.least);
    return p;
  }

  // Kernels that stream reach 0.77 to 0.88 of the bandwidth (docs/reference/kernels.md, section
  // Portable efficiency).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.25; }
  Seconds analytical_floor() const override { return kStart; }

 private:
  template <class Held>
  static Seconds prefill(const LinearAttentionCore& a, const KernelGpu& gpu, const Held& held) {
    const double length = real(a.new_tokens), batch = real(a.batch);
    const double q = std::min<double>(a.chunk, length);
    const double chunks = ceiling(length / a.chunk), tokens = batch * length;
    const double inner = 1.0 * a.v_heads * a.v_dim, shared = 1.0 * a.k_heads * a.k_dim;
    const FlopsPerSecond rate = gpu.rate(a.dtype) * kTensorShare;
    const double waves = wave_factor(batch * chunks * a.v_heads, gpu.compute_units);
    const Bytes element = bytes_per_element(a.dtype);
    const Bytes x = tokens * inner * element, b = tokens * shared * element;
    const Bytes states = batch * chunks * inner * a.k_dim * kFp32;
    const Bytes products = tokens * q * a.k_heads * kFp32;
    const Bytes gates = tokens * a.v_heads * kFp32;
    const auto kernel = [&](double flops_of_token, Bytes moved) {
      return std::max(Flops(tokens * flops_of_token) / rate * waves,
                      gpu.move_time(moved, held(moved)));
    };
    const double state_flops = 2 * inner * a.k_dim;
    return kSetupKernels * kStart + kernel(0, 3 * gates) +
           kernel(state_flops, x + b + gates + states) +
           std::max(kernel(0, 2 * states), chunks * kPass) +
           kernel(2 * q * shared, 2 * b + products) +
           kernel(2 * q * inner + state_flops, 2 * x + b + 2 * gates + states + products);
  }
};

}  // namespace

const KernelFamily& state_space_family() {
  static const StateSpaceFamily family;
  return family;
}

}  // namespace orrery
