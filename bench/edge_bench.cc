// Networks at the edge: one network on every device that the catalog has cores of, and ONNX files
// of 100 MB, whose weights lie in the file or beside it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/predict/edge_answer.h"

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

// A field of a message of the wire format (onnx.proto3) that holds bytes, and one that holds a
// number.
std::string field(unsigned number, const std::string& bytes) {
  std::string size;
  std::size_t left = bytes.size();
  for (; left > 0x7F; left >>= 7) size += static_cast<char>(0x80 | (left & 0x7F));
  return std::string(1, static_cast<char>(number << 3 | 2)) + size + static_cast<char>(left) +
         bytes;
}
std::string field(unsigned number, std::uint16_t value) {
  return {static_cast<char>(number << 3), static_cast<char>(0x80 | (value & 0x7F)),
          static_cast<char>(value >> 7)};
}

// A model of 25 products of a vector with matrices of 4 MB, whose values are in it or elsewhere.
std::string onnx_model(bool inside) {
  constexpr int kMatrices = 25;
  const std::string thousand = field(1, std::uint16_t{1000}), floats = field(2, std::uint16_t{1});
  const std::string shape = field(2, field(1, field(1, std::uint16_t{1})) + field(1, thousand));
  std::string graph =
      field(11, field(1, "x0") + field(2, field(1, field(1, std::uint16_t{1}) + shape)));
  for (int i = 0; i < kMatrices; ++i) {
    const std::string matrix = fmt::format("w{}", i), from = fmt::format("x{}", i),
                      to = fmt::format("x{}", i + 1);
    graph += field(
        5, thousand + thousand + floats + field(8, matrix) +
               (inside ? field(9, std::string(4'000'000, '\1')) : field(14, std::uint16_t{1})));
    graph += field(1, field(1, from) + field(1, matrix) + field(2, to) + field(4, "MatMul"));
  }
  graph += field(12, field(1, fmt::format("x{}", kMatrices)));
  return field(8, field(2, std::uint16_t{17})) + field(7, graph);
}

void BM_OnnxOf100MB(benchmark::State& state, bool inside) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "orrery_bench.onnx";
  std::ofstream(file, std::ios::binary) << onnx_model(inside);
  for (auto _ : state) benchmark::DoNotOptimize(read_edge_graph(file).macs());
  state.counters["MB"] = double(std::filesystem::file_size(file)) / 1e6;
  std::filesystem::remove(file);
}
BENCHMARK_CAPTURE(BM_OnnxOf100MB, inline_weights, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_OnnxOf100MB, external_weights, false)->Unit(benchmark::kMillisecond);

}  // namespace
