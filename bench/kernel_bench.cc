// One kernel's time after warm-up, and making the model of a GPU (reading its surfaces).
#include <benchmark/benchmark.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/kernel_model.h"

namespace orrery {
namespace {

void lookup(benchmark::State& state, const Op& op) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), {}, Bundle());
  for (auto _ : state) benchmark::DoNotOptimize(model->predict(op));
}

void BM_KernelGemm(benchmark::State& state) { lookup(state, Gemm{64, 7168, 8192}); }
BENCHMARK(BM_KernelGemm);

void BM_KernelDecodeAttention(benchmark::State& state) {
  lookup(state, DecodeAttention{64, 2048, 8, 1});
}
BENCHMARK(BM_KernelDecodeAttention);

void BM_KernelMoe(benchmark::State& state) {
  MoeExperts op;
  op.tokens = 64, op.hidden = 4096, op.intermediate = 14336, op.experts = 8, op.top_k = 2;
  lookup(state, op);
}
BENCHMARK(BM_KernelMoe);

void BM_KernelModelFromNothing(benchmark::State& state) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  for (auto _ : state) benchmark::DoNotOptimize(make_kernel_model(gpu, {}, Bundle()));
}
BENCHMARK(BM_KernelModelFromNothing)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
