// One lookup in a warm kernel model: what a step is a sum of.
#include <benchmark/benchmark.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/kernel_model.h"

namespace {

using namespace orrery;

Op product() {
  Gemm g;
  g.m = 48, g.n = 6144, g.k = 4096;
  return g;
}
Op decode() {
  DecodeAttention a;
  a.batch = 32, a.context = 1500, a.heads = 32, a.kv_heads = 8;
  return a;
}
Op prefill() {
  PrefillAttention a;
  a.batch = 2, a.new_tokens = 1024, a.heads = 32, a.kv_heads = 8;
  return a;
}
Op experts() {
  MoeExperts m;
  m.tokens = 64, m.hidden = 4096, m.intermediate = 1536, m.experts = 128, m.top_k = 8;
  return m;
}
Op norm() {
  Elementwise e;
  e.rows = 48, e.width = 4096;
  e.read = e.written = Bytes(2.0 * 48 * 4096);
  return e;
}

void BM_KernelLookup(benchmark::State& state, Op (*make)()) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), KernelClasses{}, Bundle());
  Op op = make();
  for (auto _ : state) {
    benchmark::DoNotOptimize(op);
    benchmark::DoNotOptimize(model->predict(op));
  }
}
BENCHMARK_CAPTURE(BM_KernelLookup, gemm, product);
BENCHMARK_CAPTURE(BM_KernelLookup, decode_attention, decode);
BENCHMARK_CAPTURE(BM_KernelLookup, prefill_attention, prefill);
BENCHMARK_CAPTURE(BM_KernelLookup, moe, experts);
BENCHMARK_CAPTURE(BM_KernelLookup, norm, norm);

void BM_MakeKernelModel(benchmark::State& state) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  for (auto _ : state) benchmark::DoNotOptimize(make_kernel_model(gpu, KernelClasses{}, Bundle()));
}
BENCHMARK(BM_MakeKernelModel)->Unit(benchmark::kMillisecond);

}  // namespace
