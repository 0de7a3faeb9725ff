// A language model that was exported to ONNX is recognised by its matrices.
#include "orrery/edge/graph/llm_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/edge/graph/edge_models.h"
#include "tests/unit/edge/onnx_llama.h"

namespace orrery {
namespace llm_graph_test {

using Sizes = LlamaSizes;

EdgeGraph llama(const Sizes& s) { return read_onnx(llama_onnx(s), "model.onnx"); }

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
