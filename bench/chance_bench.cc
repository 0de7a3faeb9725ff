// The distribution of a large job's time: 1,000 draws of a run with its GPUs and failures.
#include <benchmark/benchmark.h>

#include "orrery/training/chance/chance.h"

namespace {

using namespace orrery;

void BM_Chance(benchmark::State& state, std::int64_t gpus) {
  ChanceQuestion q;
  q.iteration = Seconds(5);
  q.iterations = 800'000;
  q.gpus = gpus;
  q.variability = {0.02, 0.01};
  q.failures_per_gpu_day = kLlama3FailuresPerGpuDay;
  q.checkpoint_write = Seconds(10);
  q.restart = Seconds(120);
  for (auto _ : state) benchmark::DoNotOptimize(training_chance(q));
}
BENCHMARK_CAPTURE(BM_Chance, gpus_1024, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Chance, gpus_16384, 16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Chance, gpus_100000, 100'000)->Unit(benchmark::kMillisecond);

}  // namespace
