// A model whose name is the text of its config.json.
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace given_config_test {

TEST(GivenConfig, IsReadAsTheFileWouldBe) {
  const Architecture m = load_model(
      R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,)"
      R"( "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,)"
      R"( "vocab_size": 128256, "hidden_act": "silu", "max_position_embeddings": 8192})");
  const Architecture bundled = load_model("llama-3-8b");
  EXPECT_EQ(m.layers.specs(), bundled.layers.specs());
  EXPECT_EQ(m.layers.size(), 32);
  EXPECT_EQ(m.vocab, bundled.vocab);
}

TEST(GivenConfig, WhatIsNoConfigIsRefused) {
  EXPECT_THROW(load_model("{"), InputError);
  EXPECT_THROW(load_model(R"({"model_type": "llama"})"), InputError);
}

}  // namespace given_config_test
}  // namespace orrery
