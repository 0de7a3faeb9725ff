// Networks at the edge: one network on every device that the catalog has cores of, and ONNX files
// of 100 MB, whose weights lie in the file or beside it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/predict/edge_answer.h"
#include "tests/unit/edge/onnx_writer.h"

namespace {

using namespace orrery;

void BM_MobileNetOnAllDevices(benchmark::State& state) {
  const Bundle bundle;
  const EdgeDevices devices(bundle);
  const EdgeLaw law = read_edge_law(bundle, "ncnn-cpu");
  const EdgeGraph graph = edge_model(bundle, "mobilenet");
  std::size_t answered = 0;
  for (auto _ : state) {
    answered = 0;
    for (const EdgeDevice& d : devices.all()) {
      if (d.clusters.empty()) continue;
      const EdgePredictor predictor(law, d, devices, {}, "ncnn");
      benchmark::DoNotOptimize(predictor.answer(graph, EdgePrecision::kFloat).latency.value);
      ++answered;
    }
  }
  state.counters["devices"] = double(answered);
}
BENCHMARK(BM_MobileNetOnAllDevices)->Unit(benchmark::kMillisecond);

// 25 products with matrices of 4 MB.
void BM_OnnxOf100MB(benchmark::State& state, bool inside) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "orrery_bench.onnx";
  constexpr int kMatrices = 25;
  {
    OnnxWriter out;
    out.input("x0", {-1, 1000});
    for (int i = 0; i < kMatrices; ++i) {
      const std::string weight = fmt::format("w{}", i);
      out.weight(weight, {1000, 1000}, std::string(inside ? 4'000'000 : 0, '\1'));
      out.node("MatMul", {fmt::format("x{}", i), weight}, {fmt::format("x{}", i + 1)});
    }
    out.output(fmt::format("x{}", kMatrices));
    std::ofstream(file, std::ios::binary) << out.bytes();
  }
  for (auto _ : state) benchmark::DoNotOptimize(read_edge_graph(file).macs());
  state.counters["MB"] = double(std::filesystem::file_size(file)) / 1e6;
  std::filesystem::remove(file);
}
BENCHMARK_CAPTURE(BM_OnnxOf100MB, inline_weights, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_OnnxOf100MB, external_weights, false)->Unit(benchmark::kMillisecond);

}  // namespace
