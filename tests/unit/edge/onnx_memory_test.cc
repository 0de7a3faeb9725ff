// A large ONNX file is read in little memory: 100 MB of weights in the file, or beside it, are
// passed over. The heap never holds more than twice what the graph itself takes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "orrery/edge/graph/edge_models.h"
#include "tests/unit/edge/onnx_writer.h"

namespace {

std::atomic<std::int64_t> live_bytes = 0, most_bytes = 0;  // NOLINT: counted by operator new below

void* counted(std::size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) return p;
  const std::int64_t live = live_bytes += std::int64_t(malloc_usable_size(p));
  if (live > most_bytes) most_bytes = live;
  return p;
}
void returned(void* p) {
  if (p != nullptr) live_bytes -= std::int64_t(malloc_usable_size(p));
  std::free(p);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* p = counted(size)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* p) noexcept { returned(p); }
void operator delete(void* p, std::size_t) noexcept { returned(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { returned(p); }

namespace orrery {
namespace onnx_memory_test {

// A network of `blocks` convolutions of 64 channels, each with a batch norm and an activation, as
// an exporter names them. `raw`: the weights of a convolution; empty: they lie in another file.
std::string network(int blocks, const std::string& raw) {
  OnnxWriter out;
  out.input("input", {-1, 64, 56, 56});
  std::string previous = "input";
  for (int i = 0; i < blocks; ++i) {
    const std::string layer = fmt::format("features.{}", i);
    out.weight(layer + ".conv.weight", {64, 64, 3, 3}, raw);
    std::vector<std::string> norm = {layer + ".conv.out"};
    for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
      norm.push_back(fmt::format("{}.norm.{}", layer, part));
      out.weight(norm.back(), {64}, std::string(raw.empty() ? 0 : 256, '\1'));
    }
    out.node(
        "Conv", {previous, layer + ".conv.weight"}, {norm.front()},
        {OnnxField::integers("kernel_shape", {3, 3}), OnnxField::integers("pads", {1, 1, 1, 1})});
    out.node("BatchNormalization", norm, {layer + ".norm.out"});
    out.node("Relu", {layer + ".norm.out"}, {layer + ".out"});
    previous = layer + ".out";
  }
  out.output(previous);
  return out.bytes();
}

constexpr int kBlocks = 700;
constexpr std::size_t kFilterBytes = 64 * 64 * 9 * sizeof(float);  // 147 kB: 103 MB in all

void expect_twice_the_graph_at_most(const std::string& bytes, const std::string& name) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(file, std::ios::binary) << bytes;
  const std::int64_t before = live_bytes;
  most_bytes = before;
  const EdgeGraph graph = read_edge_graph(file);
  const std::int64_t kept = live_bytes - before, most = most_bytes - before;
  EXPECT_EQ(graph.nodes.size(), std::size_t(kBlocks) * 3);
  EXPECT_EQ(graph.weights(), std::int64_t(kBlocks) * 64 * 64 * 9);
  EXPECT_LE(most, 2 * kept) << kept << " bytes of the graph";
  std::filesystem::remove(file);
}

TEST(OnnxMemory, WeightsInTheFile) {
  const std::string bytes = network(kBlocks, std::string(kFilterBytes, '\1'));
  ASSERT_GT(bytes.size(), 100'000'000u);
  expect_twice_the_graph_at_most(bytes, "inline.onnx");
}

// The file of the weights is not there.
TEST(OnnxMemory, WeightsBesideTheFile) {
  expect_twice_the_graph_at_most(network(kBlocks, ""), "external.onnx");
}

}  // namespace onnx_memory_test
}  // namespace orrery
