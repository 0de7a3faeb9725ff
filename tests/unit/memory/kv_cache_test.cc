#include "orrery/memory/kv_cache.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace kv_cache_test {

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
  EXPECT_NEAR(80 * layer_kv(kept_state(mha), 1, {}, 4096, 1).value() / 1e9, 10.74, 0.005);
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

// An entry of DeepSeek-V4 in fp8: 448 elements and 8 bytes of scales, 64 rotated elements in 16
// bits. An index key: 128 elements and a scale. SGLang's pool has the same 584 and 132 bytes.
TEST(KvCache, CompressedAttentionKeepsEntriesAndAWindow) {
  const Architecture flash = load_model("deepseek-v4-flash");
  const Precision precision = native_precision(flash);
  EXPECT_EQ(precision.kv_cache, Dtype::kFp8);
  const auto layer = [&](int i) { return flash.layers.at(i).mixer; };
  EXPECT_EQ(layer_kv(kept_state(layer(0)), 1, precision, 4096, 1), Bytes(0));  // a window alone
  EXPECT_EQ(layer_kv(kept_state(layer(2)), 8, precision, 4096, 1), Bytes(1024 * (584 + 132)));
  EXPECT_EQ(layer_kv(kept_state(layer(3)), 8, precision, 4096, 1), Bytes(32 * 584));
  EXPECT_EQ(layer_kv(kept_state(layer(3)), 8, precision, 1, 16), Bytes(584.0 * 16 / 128));
  EXPECT_EQ(layer_state(kept_state(layer(0)), 8, precision), Bytes(128 * 584));
  // kv and gate of 8 tokens, each twice 512 and twice 128 wide, in fp32; of 128 tokens 512 wide.
  EXPECT_EQ(layer_state(kept_state(layer(2)), 8, precision),
            Bytes(128 * 584 + 8 * 2 * 2 * 640 * 4));
  EXPECT_EQ(layer_state(kept_state(layer(3)), 8, precision), Bytes(128 * 584 + 128 * 2 * 512 * 4));
  EXPECT_EQ(layer_kv(kept_state(layer(3)), 1, {}, 4096, 1), Bytes(32 * 1024));  // in 16 bits
}

// Section 1 of DeepSeek-V4's report: a million tokens take a tenth of V3.2's cache (V4-Pro), or 7 %
// (V4-Flash).
TEST(KvCache, AMillionTokensTakeThePublishedShare) {
  const auto of = [](const char* id) {
    Precision precision;
    precision.kv_cache = Dtype::kFp8;
    return kv(id, {}, 1'000'000, precision);
  };
  EXPECT_NEAR(of("deepseek-v4-pro") / of("deepseek-v3.2"), 0.10, 0.035);
  EXPECT_NEAR(of("deepseek-v4-flash") / of("deepseek-v3.2"), 0.07, 0.03);
}

// MiniMax-M3: 4 KV heads of 2 x 128 elements, and an index key of 128 in the block-sparse layers.
TEST(KvCache, BlockSparseAttentionKeepsAnIndexKey) {
  const Architecture m3 = load_model("minimax-m3");
  EXPECT_EQ(layer_kv(kept_state(m3.layers.at(0).mixer), 1, {}, 10, 1), Bytes(10 * 2 * 4 * 2 * 128));
  EXPECT_EQ(layer_kv(kept_state(m3.layers.at(3).mixer), 8, {}, 10, 1),
            Bytes(10 * 2 * (2 * 128 + 128)));
}

}  // namespace kv_cache_test
}  // namespace orrery
