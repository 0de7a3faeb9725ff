// One lookup in a warm kernel model: what a step is a sum of. "many" asks about kSizes calls of
// different sizes in turn, so that neither a branch predictor nor a memo could learn the answers;
// "one" repeats a call.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace {

using namespace orrery;

constexpr std::size_t kSizes = 256;

// Sizes of real models and loads; the same in every run.
class Sizes {
 public:
  // Evenly spread logarithms.
  std::int64_t up_to(double most) {
    return static_cast<std::int64_t>(std::exp2(unit() * std::log2(most)));
  }
  template <std::size_t N>
  int one_of(const std::array<int, N>& sizes) {
    return sizes[random_() % N];
  }

 private:
  double unit() { return static_cast<double>(random_()) / 0x1p32; }
  std::mt19937 random_{1};
};

Op product(Sizes& sizes) {
  constexpr std::array kWidths = {512, 1024, 2048, 3072, 4096, 5120, 6144, 8192, 14336, 28672};
  Gemm g;
  g.m = sizes.up_to(8192), g.n = sizes.one_of(kWidths), g.k = sizes.one_of(kWidths);
  return g;
}
Op decode(Sizes& sizes) {
  DecodeAttention a;
  a.batch = sizes.up_to(512), a.context = static_cast<double>(sizes.up_to(65536));
  a.kv_heads = sizes.one_of(std::array{1, 2, 4, 8});
  a.heads = a.kv_heads * sizes.one_of(std::array{1, 4, 5, 7, 8});
  return a;
}
Op prefill(Sizes& sizes) {
  PrefillAttention a;
  a.batch = sizes.up_to(32), a.new_tokens = sizes.up_to(16384);
  a.kv_heads = sizes.one_of(std::array{1, 2, 4, 8});
  a.heads = a.kv_heads * sizes.one_of(std::array{1, 4, 5, 7, 8});
  return a;
}
Op experts(Sizes& sizes) {
  MoeExperts m;
  m.tokens = sizes.up_to(16384), m.hidden = sizes.one_of(std::array{2048, 4096, 7168});
  m.intermediate = sizes.one_of(std::array{768, 1536, 2048});
  m.experts = sizes.one_of(std::array{64, 128, 256}), m.top_k = 8;
  return m;
}
Op norm(Sizes& sizes) {
  Elementwise e;
  e.rows = sizes.up_to(16384), e.width = sizes.one_of(std::array{2048, 4096, 7168});
  e.read = e.written = Bytes(2.0 * static_cast<double>(e.rows * e.width));
  return e;
}

void BM_KernelLookup(benchmark::State& state, Op (*make)(Sizes&), std::size_t calls) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), KernelClasses{}, Bundle());
  Sizes sizes;
  std::vector<Op> ops;
  while (ops.size() < calls) ops.push_back(make(sizes));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->predict(ops[next]));
    if (++next == calls) next = 0;
  }
}
BENCHMARK_CAPTURE(BM_KernelLookup, gemm_many, product, kSizes);
BENCHMARK_CAPTURE(BM_KernelLookup, gemm_one, product, 1);
BENCHMARK_CAPTURE(BM_KernelLookup, decode_attention_many, decode, kSizes);
BENCHMARK_CAPTURE(BM_KernelLookup, decode_attention_one, decode, 1);
BENCHMARK_CAPTURE(BM_KernelLookup, prefill_attention_many, prefill, kSizes);
BENCHMARK_CAPTURE(BM_KernelLookup, prefill_attention_one, prefill, 1);
BENCHMARK_CAPTURE(BM_KernelLookup, moe_many, experts, kSizes);
BENCHMARK_CAPTURE(BM_KernelLookup, moe_one, experts, 1);
BENCHMARK_CAPTURE(BM_KernelLookup, norm_many, norm, kSizes);
BENCHMARK_CAPTURE(BM_KernelLookup, norm_one, norm, 1);

void BM_MakeKernelModel(benchmark::State& state) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  for (auto _ : state) benchmark::DoNotOptimize(make_kernel_model(gpu, KernelClasses{}, Bundle()));
}
BENCHMARK(BM_MakeKernelModel)->Unit(benchmark::kMillisecond);

}  // namespace
