#include "orrery/memory/kv_cache.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog.h"

namespace orrery {
namespace {

double kv(const std::string& model, const ParallelPlan& plan, std::int64_t tokens,
          const Precision& precision = {}, std::int64_t block = 1) {
  return stage_kv(load_model(model), plan, precision, 0, tokens, block).value();
}

// suite45: I3.1, I1.5, I3.3, I4.3.
TEST(KvCache, SuiteFigures) {
  EXPECT_NEAR(kv("llama-2-7b", {}, 4096) / 1e9, 2.147, 0.001);
  EXPECT_NEAR(kv("llama-3-8b", {}, 8192) / 1e9, 1.07, 0.005);
  EXPECT_NEAR(kv("llama-3-8b", {}, 32768) / 1e9, 4.29, 0.01);
  EXPECT_NEAR(kv("llama-2-70b", {}, 4096) / 1e9, 1.34, 0.005);
  SoftmaxAttention mha = std::get<SoftmaxAttention>(load_model("llama-2-70b").layers.at(0).mixer);
  mha.kv_heads = mha.heads;
  EXPECT_NEAR(80 * layer_kv(mha, 1, {}, 4096, 1).value() / 1e9, 10.74, 0.005);
}

TEST(KvCache, PublishedBytesAToken) {
  EXPECT_EQ(kv("llama-3.1-8b", {}, 1), 131072);
  // DeepSeek-V3: 61 layers of 512 + 64 elements: 70,272 bytes (its report: "70 KB").
  EXPECT_EQ(kv("deepseek-v3", {}, 1), 70272);
  EXPECT_EQ(kv("llama-3.1-8b", {}, 1, {.kv_cache = Dtype::kFp8}), 65536);
}

TEST(KvCache, TensorParallelRanks) {
  EXPECT_EQ(kv("llama-3.1-8b", {.tp = 8}, 1), 131072 / 8);
  EXPECT_EQ(kv("llama-3.1-8b", {.tp = 16}, 1), 131072 / 8);  // heads are copied
  EXPECT_EQ(kv("deepseek-v3", {.tp = 8}, 1), 70272);         // the latent is copied
}

TEST(KvCache, WholeBlocks) {
  EXPECT_EQ(kv("llama-3.1-8b", {}, 17, {}, 16), 32 * 131072);
  EXPECT_EQ(kv("llama-3.1-8b", {}, 16, {}, 16), 16 * 131072);
  EXPECT_EQ(kv("llama-3.1-8b", {}, 0, {}, 16), 0);
}

TEST(KvCache, WindowsBoundWhatALayerKeeps) {
  // gpt-oss-20b: 24 layers, every other with a window of 128; 8 heads of 64, keys and values: 2048
  // bytes a token.
  EXPECT_EQ(kv("gpt-oss-20b", {}, 100), 24 * 100 * 2048);
  EXPECT_EQ(kv("gpt-oss-20b", {}, 4096), 12 * (4096 + 128) * 2048);
}

TEST(KvCache, LinearAttentionKeepsAStateOfFixedSize) {
  // Qwen3-Next-80B: 36 of 48 layers linear; 32 heads of 128 x 128 in fp32, 3 x 8192 convolution
  // inputs in bf16; the other 12 keep 2 heads of 256, keys and values: 2048 bytes a token.
  const double state = 36 * (32.0 * 128 * 128 * 4 + 3 * 8192 * 2);
  EXPECT_EQ(kv("qwen3-next-80b-a3b", {}, 0), state);
  EXPECT_EQ(kv("qwen3-next-80b-a3b", {}, 1000), state + 12.0 * 1000 * 2048);
}

TEST(KvCache, EncodersKeepNothing) { EXPECT_EQ(kv("bert-base", {}, 512), 0); }

}  // namespace
}  // namespace orrery
