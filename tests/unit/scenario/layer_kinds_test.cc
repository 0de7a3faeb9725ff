#include "orrery/scenario/setup/layer_kinds.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace layer_kinds_test {

using Kinds = std::vector<std::string>;

Kinds kinds_of(const char* model) { return layer_kinds(load_model(model, Bundle())); }

TEST(LayerKinds, AreThoseOfTheModelsFamily) {
  EXPECT_EQ(kinds_of("llama-3-8b"), Kinds({"softmax"}));
  EXPECT_EQ(kinds_of("mixtral-8x7b"), Kinds({"experts", "softmax"}));
  EXPECT_EQ(kinds_of("deepseek-v3"), Kinds({"experts", "latent"}));
  EXPECT_EQ(kinds_of("qwen3-next-80b-a3b"), Kinds({"experts", "linear", "softmax"}));
}

}  // namespace layer_kinds_test
}  // namespace orrery
