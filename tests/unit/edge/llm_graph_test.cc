// A language model that was exported to ONNX is recognised by its matrices.
#include "orrery/edge/graph/llm_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/edge/graph/edge_models.h"
#include "tests/unit/edge/onnx_writer.h"

namespace orrery {
namespace llm_graph_test {

struct Sizes {
  int layers, hidden, inner, keys, vocab;
};

// The matrices of a Llama, layer by layer, as an exporter writes them.
EdgeGraph llama(const Sizes& s) {
  OnnxWriter out;
  out.input("tokens", {1, 8}, 7);
  out.weight("table", {s.vocab, s.hidden});
  out.node("Gather", {"table", "tokens"}, {"x0"});
  int products = 0;
  const auto product = [&](const std::string& from, int rows, int columns) {
    const std::string weight = fmt::format("w{}", products), to = fmt::format("p{}", products);
    ++products;
    out.weight(weight, {rows, columns});
    out.node("MatMul", {from, weight}, {to});
    return to;
  };
  std::string x = "x0";
  for (int i = 0; i < s.layers; ++i) {
    const std::string query = product(x, s.hidden, s.hidden);
    for (int k = 0; k < 2; ++k) out.output(product(x, s.hidden, s.keys));
    const std::string y = product(query, s.hidden, s.hidden);
    const std::string gate = product(y, s.hidden, s.inner), up = product(y, s.hidden, s.inner);
    const std::string both = fmt::format("m{}", i);
    out.node("Mul", {gate, up}, {both});
    x = product(both, s.inner, s.hidden);
  }
  out.output(product(x, s.hidden, s.vocab));
  return read_onnx(out.bytes(), "model.onnx");
}

// Sizes of the models' config.json.
constexpr Sizes kLlama3 = {32, 4096, 14336, 1024, 128256};
constexpr Sizes kLlama32 = {16, 2048, 8192, 512, 128256};  // its head is its table

TEST(LlmGraph, ModelsOfTheCatalogAreRecognised) {
  const Bundle bundle;
  const std::vector<std::string> large = language_models(llama(kLlama3), bundle);
  for (const char* id : {"llama-3-8b", "llama-3.1-8b"})
    EXPECT_EQ(std::ranges::count(large, id), 1) << id;
  EXPECT_EQ(std::ranges::count(large, "llama-2-7b"), 0);
  const std::vector<std::string> small = language_models(llama(kLlama32), bundle);
  EXPECT_EQ(small, std::vector<std::string>{"llama-3.2-1b"});
}

TEST(LlmGraph, OtherNetworksAreNot) {
  const Bundle bundle;
  Sizes shallow = kLlama3;
  --shallow.layers;
  EXPECT_TRUE(language_models(llama(shallow), bundle).empty());
  // This graph has as many parameters as Llama 3, with half its vocabulary and wider layers.
  Sizes narrow = kLlama3;
  narrow.vocab /= 2, narrow.inner += narrow.vocab / (3 * narrow.layers) * 2;
  EXPECT_TRUE(language_models(llama(narrow), bundle).empty());
  EXPECT_TRUE(language_models(edge_model(bundle, "vgg16"), bundle).empty());
}

}  // namespace llm_graph_test
}  // namespace orrery
