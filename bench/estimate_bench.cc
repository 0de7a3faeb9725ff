// The cost of a search: a question answered from warm facts, from nothing, and a model read from
// its config.json.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <utility>

#include "orrery/base/node.h"
#include "orrery/model/families/hf_config.h"
#include "orrery/scenario/runner/runner.h"

namespace {

using namespace orrery;

Scenario question(const char* model, int tp) {
  Scenario s;
  s.model = model;
  s.hardware.gpu = "h100-sxm";
  s.parallel.tp = tp;
  s.ask<SteadyQuestion>().batch = 16;
  return s;
}

void BM_EstimatePoint(benchmark::State& state, const char* model, int tp) {
  Runner runner{Bundle()};
  const Scenario s = question(model, tp);
  RunOptions options;
  options.breakdown = false;
  for (auto _ : state) benchmark::DoNotOptimize(runner.run(s, options));
}
BENCHMARK_CAPTURE(BM_EstimatePoint, llama_3_8b, "llama-3-8b", 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_EstimatePoint, llama_3_70b_tp8, "llama-3-70b", 8)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_EstimatePoint, deepseek_v3_tp8, "deepseek-v3", 8)
    ->Unit(benchmark::kMicrosecond);

// The catalog without the power of the board of an H100, which leaves an estimate without energy.
Bundle without_power() {
  const Bundle bundle;
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list("gpus", ".yaml")) {
    std::string text(bundle.find(path)->content);
    if (path == "gpus/h100-sxm.yaml") {
      const std::size_t at = text.find("\npower: ");
      text.erase(at, text.find('\n', at + 1) - at);
    }
    files.emplace(path, std::move(text));
  }
  return bundle.replacing("gpus", std::move(files));
}

// Pairs of estimates that differ in power and energy alone. `breakdown`: the rows of the kernels
// and of the energy are asked for.
void BM_EstimateEnergy(benchmark::State& state, const char* model, bool energy, bool breakdown) {
  Runner runner{energy ? Bundle() : without_power()};
  const Scenario s = question(model, 1);
  RunOptions options;
  options.breakdown = breakdown;
  for (auto _ : state) benchmark::DoNotOptimize(runner.run(s, options));
}
BENCHMARK_CAPTURE(BM_EstimateEnergy, llama_3_8b_with, "llama-3-8b", true, false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_EstimateEnergy, llama_3_8b_without, "llama-3-8b", false, false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_EstimateEnergy, llama_3_8b_rows_with, "llama-3-8b", true, true)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_EstimateEnergy, llama_3_8b_rows_without, "llama-3-8b", false, true)
    ->Unit(benchmark::kMicrosecond);

// The facts and kernel tables are read too, as in a process that answers one question.
void BM_EstimateFromNothing(benchmark::State& state) {
  const Scenario s = question("llama-3-8b", 1);
  for (auto _ : state) {
    Runner runner{Bundle()};
    benchmark::DoNotOptimize(runner.run(s));
  }
}
BENCHMARK(BM_EstimateFromNothing)->Unit(benchmark::kMillisecond);

void BM_ReadConfig(benchmark::State& state, const char* file) {
  const std::string text = read_text_file(std::string(ORRERY_SOURCE_DIR "/catalog/models/") + file);
  for (auto _ : state) benchmark::DoNotOptimize(read_hf_config(parse_json(text, file), "model"));
}
BENCHMARK_CAPTURE(BM_ReadConfig, llama_3_8b, "llama-3-8b.json")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_ReadConfig, deepseek_v3, "deepseek-v3.json")->Unit(benchmark::kMicrosecond);

}  // namespace
