// Sizes of GGUF files against published ones, and hand-worked bytes.
#include "orrery/edge/llm/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/edge/llm/llm_work.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace gguf_test {

double gib_of(const char* model, const char* format) {
  return gguf_bytes(gguf_matrices(load_model(model), gguf_format(format))) / gibibytes(1);
}

TEST(Gguf, BlocksHaveTheBytesOfTheirStructs) {
  // Q4_K: two halves, twelve bytes of scales, 128 bytes of 4-bit values for 256 weights.
  EXPECT_DOUBLE_EQ(gguf_type("Q4_K").bytes_each() * 8, 4.5);
  EXPECT_DOUBLE_EQ(gguf_type("Q6_K").bytes_each() * 8, 6.5625);
  EXPECT_DOUBLE_EQ(gguf_type("Q8_0").bytes_each() * 8, 8.5);
  EXPECT_DOUBLE_EQ(gguf_type("MXFP4").bytes_each() * 8, 4.25);
}

// Sizes as llama-bench prints them (llama.cpp discussions 4167 and 15013, gpt-oss guide 15396).
TEST(Gguf, FilesHaveThePublishedSizes) {
  const struct {
    const char *model, *format;
    double gib;
  } kPublished[] = {
      {"llama-2-7b", "Q4_0", 3.56},     {"llama-2-7b", "Q8_0", 6.67},
      {"llama-2-7b", "F16", 12.55},     {"llama-3-8b", "Q4_K_M", 4.58},
      {"llama-3.1-8b", "Q8_0", 7.95},   {"llama-3-70b", "Q4_K_M", 39.59},
      {"llama-3.2-3b", "Q4_K_M", 1.87}, {"gpt-oss-20b", "MXFP4", 11.27},
      {"gpt-oss-120b", "MXFP4", 59.02}, {"qwen2.5-14b", "Q4_K_M", 8.37},
  };
  for (const auto& p : kPublished)
    EXPECT_NEAR(gib_of(p.model, p.format) / p.gib, 1, 0.006) << p.model << " " << p.format;
}

TEST(Gguf, RowsOfNoWholeBlocksHaveSmallerOnes) {
  // Rows of 896 are no multiple of 256: Q4_K becomes Q5_0.
  const auto matrices = gguf_matrices(load_model("qwen2.5-0.5b"), gguf_format("q4-k-m"));
  const auto has = [&](const char* type) {
    return std::any_of(matrices.begin(), matrices.end(),
                       [&](const GgufMatrices& m) { return m.type->name == type; });
  };
  EXPECT_TRUE(has("Q5_0"));
  EXPECT_THROW(gguf_format("Q4_K_X"), InputError);
  EXPECT_THROW(gguf_matrices(load_model("bert-base"), gguf_format("F16")), InputError);
}

TEST(LlmFile, ReadsWhatTokensTouch) {
  const LlmFile dense(load_model("llama-2-7b"), gguf_format("F16"));
  EXPECT_EQ(dense.read(1), dense.read(512));
  EXPECT_NEAR(dense.read(1) / (dense.size() - dense.tables()), 1, 1e-9);
  // 32 experts of which 4 serve a token.
  const LlmFile mixture(load_model("gpt-oss-20b"), gguf_format("MXFP4"));
  EXPECT_TRUE(mixture.mixture());
  EXPECT_LT(mixture.read(1) / mixture.read(4096), 0.3);
  EXPECT_LT(mixture.read(2), mixture.read(3));
}

TEST(LlmFile, CacheAndAttentionByHand) {
  const LlmFile file(load_model("llama-2-7b"), gguf_format("F16"));
  // Keys and values of 32 layers, 4096 elements each, two bytes.
  EXPECT_DOUBLE_EQ(file.cache_read(1).value(), 2 * 32 * 4096 * 2);
  // Two tokens see one and two keys: three pairs of 4 * 4096 operations in 32 layers.
  EXPECT_DOUBLE_EQ(file.attention_flops(0, 2).value(), 3.0 * 4 * 4096 * 32);
  EXPECT_DOUBLE_EQ(file.attention_flops(10, 1).value(), 11.0 * 4 * 4096 * 32);
  // Windows bound what is read: half the layers of gpt-oss see 128 tokens.
  const LlmFile windows(load_model("gpt-oss-20b"), gguf_format("MXFP4"));
  EXPECT_LT(windows.cache_read(8192) / windows.cache_read(128), 8192.0 / 128);
}

TEST(LlmFile, TakesTheSizeOfAPublishersMixture) {
  const LlmFile file(load_model("llama-2-7b"), gguf_format("Q4_K_M"));
  EXPECT_NEAR(file.of_size(file.size() * 1.1).read(1) / file.read(1), 1.1, 1e-9);
  EXPECT_THROW(file.of_size(gigabytes(500)), InputError);
}

}  // namespace gguf_test
}  // namespace orrery
