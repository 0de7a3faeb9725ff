#include "orrery/memory/memory_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/memory/activations.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/unit/memory/engines.h"

namespace orrery {
namespace memory_model_test {

EngineProfile vllm_on_small_gpu() {
  EngineProfile e = engine_of("vllm");
  e.scheduler.max_num_batched_tokens = e.scheduler.small_gpu_batched_tokens;
  e.scheduler.max_num_seqs = e.scheduler.small_gpu_num_seqs;
  return e;
}

MemoryModel memory(const std::string& model, const std::string& gpu, const ParallelPlan& plan = {},
                   const Precision& precision = {}) {
  return MemoryModel(load_model(model), plan, precision, vllm_on_small_gpu(), Catalog().gpu(gpu));
}

// suite45 I3.1.
TEST(MemoryModel, LlamaOnA100) {
  const MemoryModel m = memory("llama-2-7b", "a100-80g-sxm");
  EXPECT_GE(m.max_concurrency(4096), 26);
  EXPECT_LE(m.max_concurrency(4096), 31);
  EXPECT_NEAR(m.kv_per_sequence(4096).value() / 1e9, 2.147, 0.001);
  EXPECT_NEAR(m.kv_of_model(4096).value() / 1e9, 2.147, 0.001);
}

// vLLM 0.19 on an RTX 4090 with Llama-3.1-8B reported 2588 blocks; 0.9 of the memory less weights
// alone would be 3178.
TEST(MemoryModel, BlocksOfARealEngine) {
  const MemoryModel m = memory("llama-3.1-8b", "rtx-4090");
  EXPECT_NEAR(static_cast<double>(m.kv_blocks()), 2588, 0.05 * 2588);
}

// Each engine's own arithmetic: vLLM's share covers everything, SGLang's weights and KV cache of
// what is free at its start, TensorRT-LLM's the KV cache of what is left at the end.
TEST(MemoryModel, TheShareIsOfWhatTheEngineSays) {
  using ShareOf = EngineProfile::Memory::ShareOf;
  const auto full = [](ShareOf share_of, double utilization) {
    EngineProfile e = vllm_on_small_gpu();
    e.memory.share_of = share_of;
    e.memory.utilization = utilization;
    e.memory.graphs = gigabytes(1);
    return MemoryModel(load_model("llama-3.1-8b"), {}, {}, e, Catalog().gpu("h100-sxm")).full();
  };
  const auto pool = [&](ShareOf share_of) { return full(share_of, 0.8).kv_cache / gigabytes(1); };
  const MemoryBreakdown m = full(ShareOf::kDevice, 0.8);
  const double capacity = m.capacity / gigabytes(1), weights = m.weights / gigabytes(1),
               context = m.context / gigabytes(1),
               rest = (m.activations + m.workspace + m.graphs) / gigabytes(1);
  EXPECT_NEAR(pool(ShareOf::kDevice), 0.8 * capacity - weights - context - rest, 1e-9);
  EXPECT_NEAR(pool(ShareOf::kWeightsAndKv), 0.8 * (capacity - context) - weights, 1e-9);
  EXPECT_NEAR(pool(ShareOf::kFree), 0.8 * (capacity - weights - context - rest), 1e-9);
  // Activations that the rest does not hold take from the KV cache.
  EXPECT_NEAR(full(ShareOf::kWeightsAndKv, 1).kv_cache / gigabytes(1),
              capacity - weights - context - rest, 1e-9);
}

TEST(MemoryModel, ActivationsByHand) {
  // 2048 tokens: 2 * 4096 + 3 * 14336 elements of 2 bytes; 256 sequences: 2048 * 4096 * 2 + 256 *
  // 128256 * 6 bytes.
  const Architecture llama = load_model("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(activation_peak(llama, {}, {}, 0, 2048, 256).value(), 213778432.0);
  EXPECT_DOUBLE_EQ(activation_peak(llama, {}, {}, 0, 2048, 1).value(), 209715200.0);
  EXPECT_DOUBLE_EQ(activation_peak(llama, {.tp = 8}, {}, 0, 2048, 1).value(),
                   2048 * 2 * (8192 + 5376.0));
}

// The experts of a rank get as many rows under 8 as under 64 groups if every group has a rank, and
// eight times as many if eight groups share one.
TEST(MemoryModel, WideExpertParallelismNeedsTheBuffersOfItsOwnTokens) {
  const Architecture v3 = load_model("deepseek-v3");
  const auto peak = [&](int dp, int ep) {
    return activation_peak(v3, {.dp = dp, .ep = ep}, {}, 0, 4096, 1).value();
  };
  EXPECT_DOUBLE_EQ(peak(64, 64), peak(8, 8));
  EXPECT_GT(peak(64, 8), 4 * peak(64, 64));
  EXPECT_LT(peak(64, 64), 3e9);
}

TEST(MemoryModel, LoadsAddUp) {
  const MemoryModel m = memory("llama-3.1-8b", "h100-sxm");
  const MemoryBreakdown b = m.load(10, 1000);
  EXPECT_DOUBLE_EQ(b.kv_cache.value(), 10.0 * 1008 * 131072);
  EXPECT_DOUBLE_EQ(
      b.total().value(),
      (b.weights + b.kv_cache + b.activations + b.workspace + b.graphs + b.context).value());
  EXPECT_NEAR(b.reserve.value(), 0.1 * b.capacity.value(), 1);
  EXPECT_TRUE(b.fits());
  const MemoryBreakdown full = m.full();
  EXPECT_NEAR((full.total() + full.reserve).value(), full.capacity.value(), 1);
  EXPECT_EQ(full.kv_cache, m.kv_pool());
}

TEST(MemoryModel, WhatDoesNotFitSaysWhy) {
  const MemoryModel m = memory("llama-3-70b", "h100-sxm");
  const MemoryBreakdown b = m.load(1, 8192);
  EXPECT_FALSE(b.fits());
  EXPECT_EQ(m.max_concurrency(1), 0);
  EXPECT_EQ(m.kv_blocks(), 0);
  EXPECT_EQ(m.kv_pool(), Bytes(0));
  const std::string why = b.summary();
  EXPECT_EQ(why.find("does not fit"), 0u) << why;
  EXPECT_NE(why.find("weights 141 GB"), std::string::npos) << why;
  EXPECT_NE(why.find("kv_cache 2.68 GB"), std::string::npos) << why;
}

TEST(MemoryModel, ContiguousEnginesReserveTheLongestLength) {
  EngineProfile e = vllm_on_small_gpu();
  e.memory.paged = false;
  const MemoryModel m(load_model("llama-3.1-8b"), {}, {}, e, Catalog().gpu("h100-sxm"));
  EXPECT_DOUBLE_EQ(m.load(4, 100).kv_cache.value(), 4.0 * 100 * 131072);
  EXPECT_DOUBLE_EQ(m.load(4, 100, 8192).kv_cache.value(), 4.0 * 8192 * 131072);
}

TEST(MemoryModel, StaticBatchesComputeAllTheirPrompts) {
  EngineProfile e = vllm_on_small_gpu();
  e.scheduler.continuous = false;
  e.scheduler.max_num_batched_tokens = 1'000'000;
  const Architecture llama = load_model("llama-3.1-8b");
  const MemoryModel m(llama, {}, {}, e, Catalog().gpu("h100-sxm"));
  EXPECT_EQ(m.load(4, 1000).activations, activation_peak(llama, {}, {}, 0, 4000, 4));
  EXPECT_EQ(m.load(1'000'000'000, 1'000'000'000'000).activations,
            activation_peak(llama, {}, {}, 0, 1'000'000, 1'000'000'000));
}

TEST(MemoryModel, ReplicasAddUp) {
  const std::int64_t one = memory("llama-3.1-8b", "h100-sxm").max_concurrency(4096);
  EXPECT_EQ(memory("llama-3.1-8b", "h100-sxm", {.dp = 4}).max_concurrency(4096), 4 * one);
}

TEST(MemoryModel, TheStageWithLeastRoomDecides) {
  const MemoryModel m = memory("llama-3-70b", "a100-80g-sxm", {.tp = 1, .pp = 4});
  // 20 layers a stage; the ends hold a table of 2.1 GB.
  EXPECT_NEAR(m.load(1, 16).weights.value() / 1e9, (141.1 - 2 * 2.1) / 4 + 2.1, 0.1);
  EXPECT_EQ(m.kv_per_sequence(16), Bytes(20.0 * 16 * 2 * 8 * 128 * 2));
}

TEST(MemoryModel, RefusesPlansThatTheModelDoesNotAllow) {
  EXPECT_THROW(memory("llama-3.1-8b", "h100-sxm", {.tp = 3}), Infeasible);
}

// The number of sequences that max_concurrency returns fits, and one sequence more does not.
RC_GTEST_PROP(MemoryLaw, ConcurrencyIsTheLastThatFits, ()) {
  static const std::vector<std::string> models = {"llama-3.1-8b", "gpt-oss-20b",
                                                  "qwen3-next-80b-a3b", "deepseek-v2-lite"};
  const auto& model = *rc::gen::elementOf(models);
  const int tp = *rc::gen::element(1, 2, 4, 8);
  const auto tokens = *rc::gen::inRange<std::int64_t>(1, 100000);
  static const Catalog catalog;
  static std::map<std::pair<std::string, int>, MemoryModel> made;
  auto it = made.find({model, tp});
  if (it == made.end()) {
    it = made.emplace(std::pair{model, tp},
                      MemoryModel(load_model(model), {.tp = tp}, {}, vllm_on_small_gpu(),
                                  catalog.gpu("h100-sxm")))
             .first;
  }
  const MemoryModel& m = it->second;
  const std::int64_t most = m.max_concurrency(tokens);
  RC_ASSERT(!m.load(most + 1, tokens).fits());
  if (most > 0) RC_ASSERT(m.load(most, tokens).fits());
  RC_ASSERT(m.max_concurrency(tokens + 1) <= most);
}

// Qwen3-Next-80B on one GPU: 12 layers keep 2048 bytes a token, 16 tokens a block; the states of 36
// layers (32 heads of 128 x 128 in fp32 and 3 x 8192 inputs of the convolution) fill 197 blocks of
// 393,216 bytes. The log of an engine counts them for each request.
TEST(MemoryModel, TheStateOfASequenceInBlocks) {
  const Architecture model = load_model("qwen3-next-80b-a3b");
  const EngineProfile engine = engine_of("vllm");
  const MemoryModel memory(model, {}, native_precision(model), engine, Catalog().gpu("b200-sxm"));
  EXPECT_EQ(memory.kv_block(), Bytes(12 * 16 * 2048));
  EXPECT_EQ(memory.state_blocks(), 197);
  const Architecture dense = load_model("llama-3.1-8b");
  EXPECT_EQ(MemoryModel(dense, {}, native_precision(dense), engine, Catalog().gpu("b200-sxm"))
                .state_blocks(),
            0);
}

TEST(MemoryModel, RanksDivideACacheOfWhichTheyHaveCopies) {
  const ParallelPlan copies{.tp = 8};
  ParallelPlan divided = copies;
  divided.cp = 4;
  const MemoryModel a = memory("glm-4-9b", "h100-sxm", copies),
                    b = memory("glm-4-9b", "h100-sxm", divided);
  EXPECT_DOUBLE_EQ(b.kv_block().value(), a.kv_block().value() / 4);
  EXPECT_DOUBLE_EQ(b.kv_per_sequence(8000).value(), a.kv_per_sequence(8000).value() / 4);
  EXPECT_EQ(b.kv_of_model(8000), a.kv_of_model(8000));
  EXPECT_EQ(b.full().weights, a.full().weights);
  EXPECT_NEAR(1.0 * static_cast<double>(b.kv_blocks()) / static_cast<double>(a.kv_blocks()), 4,
              1e-3);
  EXPECT_GE(b.max_concurrency(8000), 4 * a.max_concurrency(8000));
}

// DeepSeek-V4-Flash, blocks of 16 tokens: 4 entries of 584 + 132 bytes in 21 layers, an eighth of
// one of 584 in 20. A window of 128 x 584 bytes in 43 layers; waiting kv and gate of 8 tokens,
// twice 640 wide, in 21, of 128 tokens, 512 wide, in 20.
TEST(MemoryModel, WindowsOfCompressedAttentionTakeBlocks) {
  const Architecture flash = load_model("deepseek-v4-flash");
  const ParallelPlan plan{.tp = 8, .ep = 8};
  const MemoryModel m(flash, plan, native_precision(flash), engine_of("vllm"),
                      Catalog().gpu("h200-sxm"));
  const double block = 21 * 4 * 716.0 + 20 * 584 / 8.0;
  EXPECT_EQ(m.kv_block(), Bytes(block));
  const double state = 43 * 128 * 584.0 + 21 * 8 * 2 * 1280 * 4.0 + 20 * 128 * 2 * 512 * 4.0;
  EXPECT_EQ(m.state_blocks(), static_cast<std::int64_t>(state / block) + 1);
  EXPECT_EQ(m.kv_per_sequence(1600), Bytes(state + 100 * block));
}

}  // namespace memory_model_test
}  // namespace orrery
