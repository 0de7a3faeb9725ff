// Groups of layers with KV blocks of their own, against counts by hand.
#include "orrery/memory/kv_groups.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/unit/memory/engines.h"

namespace orrery {
namespace kv_groups_test {

KvGroups of(const std::string& model) { return kv_groups(load_model(model)); }

TEST(KvGroups, LayersOfTheRarerKindMakeAGroup) {
  EXPECT_EQ(of("gpt-oss-20b"), (KvGroups{1, 1, 128}));   // 12 and 12
  EXPECT_EQ(of("gemma-2-9b"), (KvGroups{1, 1, 4096}));   // 21 and 21
  EXPECT_EQ(of("gemma-3-27b"), (KvGroups{1, 6, 1024}));  // 10 and 52: six of 9 or 8
  EXPECT_EQ(of("phi-3-mini"), (KvGroups{0, 1, 2047}));   // all of them
  EXPECT_EQ(of("llama-3.1-8b"), KvGroups());
  EXPECT_EQ(of("deepseek-v3"), KvGroups());
  EXPECT_EQ(of("qwen3-next-80b-a3b"), KvGroups());
  EXPECT_EQ(of("llama-4-scout"), KvGroups());  // chunks, not windows
}

// A row of Gemma 4 26B has one block of its 5 layers without a window, with 2 KV heads of 512, and
// two of each of the five groups with one, with 8 of 256. MiMo V2 Flash has 9 layers without a
// window, with 4 KV heads, and 39 with one and 8 heads; 8 ranks have a head each of both.
TEST(KvGroups, LayersThatKeepTwiceAsMuchHaveTwoBlocksOfARow) {
  EXPECT_EQ(of("gemma-4-26b-a4b"), (KvGroups{1, 10, 1024, 0, 1, 2}));
  const Architecture mimo = load_model("mimo-v2-flash");
  EXPECT_EQ(kv_groups(mimo), (KvGroups{1, 10, 128, 0, 1, 2}));
  EXPECT_EQ(kv_groups(mimo).windowed_groups(), 5);
  EXPECT_EQ(kv_groups(mimo, 8), (KvGroups{1, 5, 128}));
  EXPECT_EQ(layers_of_group(mimo, kv_groups(mimo), 0, 48), 9);
}

// Gemma 4 26B keeps 4096 bytes a token in a layer without a window and 8192 in one with: blocks of
// 16 tokens of five layers of the former. 100,000 tokens have 6250 rows, of which 65 are in
// windows.
TEST(KvGroups, MemoryOfLayersOfTwoSizes) {
  const Architecture model = load_model("gemma-4-26b-a4b");
  const MemoryModel memory(model, {}, native_precision(model), engine_of("vllm"),
                           Catalog().gpu("h100-sxm"));
  const double block = 16.0 * 5 * 4096;
  EXPECT_EQ(memory.kv_block().value(), block);
  EXPECT_EQ(memory.kv_per_sequence(100000).value(), (6250 + 10 * 65) * block);
}

// Gemma 4 E4B has 24 layers with a cache among 42: 4 without a window, with heads of 512, and 20
// with one and heads of 256.
TEST(KvGroups, LayersThatShareACacheAreInNoGroup) {
  const Architecture model = load_model("gemma-4-e4b");
  EXPECT_EQ(kv_groups(model), (KvGroups{2, 5, 512, 0, 2, 1}));
  EXPECT_EQ(layers_of_group(model, kv_groups(model), 0, 42), 4);
}

TEST(KvGroups, PipelineStagesDivideEachGroup) {
  const Architecture oss = load_model("gpt-oss-20b"), gemma = load_model("gemma-3-27b");
  EXPECT_EQ(layers_of_group(oss, kv_groups(oss), 0, 24), 12);
  EXPECT_EQ(layers_of_group(oss, kv_groups(oss), 0, 6), 3);
  EXPECT_EQ(layers_of_group(oss, kv_groups(oss), 0, 5), 3);  // three with a window, two without
  EXPECT_EQ(layers_of_group(gemma, kv_groups(gemma), 0, 62), 10);
}

// A window of 128 and blocks of 16. Token number 143 sees 16 to 143: the first block is outside.
TEST(KvGroups, WhatIsOutsideOfAWindow) {
  const KvGroups g{1, 1, 128};
  EXPECT_EQ(g.skipped_rows(142, 16), 0);
  EXPECT_EQ(g.skipped_rows(143, 16), 1);
  EXPECT_EQ(g.skipped_rows(159, 16), 2);
  EXPECT_EQ(KvGroups().skipped_rows(100000, 16), 0);
  EXPECT_EQ(g.held(1, 16), 2);
  EXPECT_EQ(g.held(128, 16), 16);
  EXPECT_EQ(g.held(1000, 16), 63 + 63 - 54);  // token 999 sees 872 and on: 54 blocks before
  EXPECT_EQ(g.held(1008, 16), 63 + 9);        // token 1007 needs 8, but 1000 needed 9
  EXPECT_EQ(g.window_rows(16), 8);
  EXPECT_EQ(g.enough(100000, 2048, 16), 6250 + 136 + 1);
  EXPECT_EQ(g.enough(100, 2048, 16), 14);
}

// gpt-oss-20b keeps 2048 bytes a token and layer; a block is 16 tokens of 12 layers.
TEST(KvGroups, MemoryOfAModelWithWindows) {
  const Architecture model = load_model("gpt-oss-20b");
  const Gpu gpu = Catalog().gpu("h100-sxm");
  EngineProfile engine = engine_of("vllm");
  ASSERT_TRUE(engine.memory.hybrid_kv_cache);
  const MemoryModel groups(model, {}, native_precision(model), engine, gpu);
  engine.memory.hybrid_kv_cache = false;
  const MemoryModel whole(model, {}, native_precision(model), engine, gpu);
  const double block = 16.0 * 12 * 2048;
  EXPECT_EQ(groups.kv_block().value(), block);
  EXPECT_EQ(whole.kv_block().value(), 2 * block);
  EXPECT_EQ(groups.kv_per_sequence(1000).value(), 72 * block);
  EXPECT_EQ(whole.kv_per_sequence(1000).value(), 126 * block);
  EXPECT_NEAR(static_cast<double>(groups.kv_blocks()), 2.0 * static_cast<double>(whole.kv_blocks()),
              1);
  // A windowed group holds nine of the 6250 blocks of a sequence.
  EXPECT_GT(groups.max_concurrency(100000),
            1.9 * static_cast<double>(whole.max_concurrency(100000)));
  EXPECT_EQ(groups.kv_pool().value(), whole.kv_pool().value());
}

// SGLang: of 2048 bytes a token and layer, 12 layers in one pool and 12 in one of 0.8 times as many
// tokens. Gemma is not among the models that it does so for.
TEST(KvGroups, TwoPoolsOfSglang) {
  const Architecture model = load_model("gpt-oss-20b");
  const EngineProfile engine = engine_of("sglang");
  EXPECT_EQ(kv_groups(model, engine.memory, 1), (KvGroups{1, 1, 128, 0.8}));
  EXPECT_EQ(kv_groups(load_model("gemma-3-27b"), engine.memory, 1), KvGroups());
  EXPECT_EQ(kv_groups(load_model("mimo-v2-flash"), engine.memory, 1), (KvGroups{1, 1, 128, 0.8}));
  const MemoryModel memory(model, {}, native_precision(model), engine, Catalog().gpu("h100-sxm"));
  EXPECT_DOUBLE_EQ(memory.kv_block().value(), 2048 * 12 * 1.8);
  const KvGroups g = memory.groups();
  EXPECT_EQ(g.window_blocks(1000), 800);
  EXPECT_EQ(g.held(10000, 1), 10000);  // two windows are less than 0.8 of it
  EXPECT_EQ(g.held(300, 1), 320);      // 256 in the smaller pool
  EXPECT_EQ(g.held(100, 1), 125);
}

}  // namespace kv_groups_test
}  // namespace orrery
