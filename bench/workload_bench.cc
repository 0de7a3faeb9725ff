// Programs are built for every step that is predicted.
#include <benchmark/benchmark.h>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/inference/program.h"

namespace {

using namespace orrery;

void BM_DecodeProgram(benchmark::State& state, const char* id, ParallelPlan plan) {
  const Architecture model = load_model(id);
  const Precision precision = native_precision(model);
  const Batch batch{{{64, 1, 1024, true}}};
  for (auto _ : state) benchmark::DoNotOptimize(forward_program(model, plan, precision, batch));
}
BENCHMARK_CAPTURE(BM_DecodeProgram, llama_3_70b_tp8, "llama-3-70b", {8, 1, 1, 1});
BENCHMARK_CAPTURE(BM_DecodeProgram, deepseek_v3_ep8, "deepseek-v3", {8, 1, 1, 8});
BENCHMARK_CAPTURE(BM_DecodeProgram, gemma_3_27b_pp2, "gemma-3-27b", {1, 2, 1, 1});

}  // namespace
