#include "orrery/workload/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/refusal.h"

namespace orrery {
namespace plan_test {

using ::testing::HasSubstr;

template <class Error>
std::string refusal(const Architecture& model, const ParallelPlan& plan,
                    const Precision& precision = {}) {
  return refusal_of<Error>([&] { check_plan(model, plan, precision); });
}

TEST(CheckPlan, TensorParallelDividesHeads) {
  const Architecture model =
      load_model("llama-3-70b");  // 64 heads, 8 of keys and values, width 28672
  for (const int tp : {1, 2, 4, 8, 16, 32, 64})
    EXPECT_NO_THROW(check_plan(model, {tp, 1, 1, 1}, {})) << tp;
  EXPECT_EQ(refusal<Infeasible>(model, {3, 1, 1, 1}),
            "tp 3 does not divide the 64 attention heads of llama-3-70b; valid tp: 1, 2, 4, 8, 16, "
            "32, 64");
}

TEST(CheckPlan, KeyValueHeadsDivideOrAreCopied) {
  const Architecture model = load_model("phi-3-medium");  // 40 heads, 10 of keys and values
  EXPECT_NO_THROW(check_plan(model, {5, 1, 1, 1}));
  EXPECT_NO_THROW(check_plan(model, {20, 1, 1, 1}));
  EXPECT_THAT(refusal<Infeasible>(model, {4, 1, 1, 1}), HasSubstr("key-value heads"));
}

TEST(CheckPlan, WidthsAreCutInWholeBlocksOfFp8) {
  const Architecture model = load_model("deepseek-v3");  // dense 18432, experts 2048
  Precision precision;
  precision.weights = precision.experts = Format::kFp8Block;
  EXPECT_NO_THROW(check_plan(model, {16, 1, 1, 1}, precision));
  EXPECT_THAT(refusal<Infeasible>(model, {32, 1, 1, 1}, precision),
              HasSubstr("whole fp8 blocks of 128"));
  EXPECT_NO_THROW(check_plan(model, {32, 1, 1, 1}));
}

TEST(CheckPlan, ExpertParallelDividesRanksAndExperts) {
  const Architecture model = load_model("mixtral-8x7b");
  EXPECT_NO_THROW(check_plan(model, {8, 1, 1, 8}));
  EXPECT_NO_THROW(check_plan(model, {2, 1, 4, 8}));
  EXPECT_EQ(refusal<Infeasible>(model, {8, 1, 1, 3}),
            "ep 3 does not divide tp*dp = 8; valid ep with tp 8 and dp 1: 1, 2, 4, 8");
  EXPECT_THAT(refusal<Infeasible>(model, {8, 1, 2, 16}),
              HasSubstr("does not divide the 8 experts"));
  EXPECT_THAT(refusal<Infeasible>(load_model("llama-3-8b"), {8, 1, 1, 2}),
              HasSubstr("has no experts"));
}

TEST(CheckPlan, StagesNeedLayers) {
  EXPECT_NO_THROW(check_plan(load_model("llama-3-8b"), {1, 32, 1, 1}));
  EXPECT_THAT(refusal<Infeasible>(load_model("llama-3-8b"), {1, 33, 1, 1}),
              HasSubstr("valid pp: 1 to 32"));
}

TEST(CheckPlan, SizesArePositiveAndNotAbsurd) {
  const Architecture model = load_model("llama-3-8b");
  EXPECT_THAT(refusal<InputError>(model, {0, 1, 1, 1}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal<InputError>(model, {1, -1, 1, 1}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal<InputError>(model, {1, 1, 2147483647, 1}), HasSubstr("devices"));
}

TEST(CheckPlan, RecurrentMixersDivideByTheirHeads) {
  const Architecture next = load_model("qwen3-next-80b-a3b");  // 16 key heads, 2 key-value heads
  EXPECT_NO_THROW(check_plan(next, {16, 1, 1, 1}));
  EXPECT_THAT(refusal<Infeasible>(next, {32, 1, 1, 1}), HasSubstr("valid tp: 1, 2, 4, 8, 16"));
}

TEST(CheckPlan, EncoderDecodersHaveNoProgram) {
  EXPECT_THAT(refusal<NoData>(load_model("t5-base"), {1, 1, 1, 1}), HasSubstr("encoder-decoder"));
}

TEST(StageLayers, SpareLayersGoBeforeTheLastStage) {
  // 61 over 4 as vLLM deals them: 15, 15, 16, 15.
  const int sizes[] = {15, 15, 16, 15};
  int next = 0;
  for (int stage = 0; stage < 4; ++stage) {
    const StageLayers range = stage_layers(61, 4, stage);
    EXPECT_EQ(range.first, next);
    EXPECT_EQ(range.size(), sizes[stage]);
    next = range.last;
  }
  EXPECT_EQ(next, 61);
}

TEST(NativePrecision, FollowsTheCheckpoint) {
  const Precision llama = native_precision(load_model("llama-3-8b"));
  EXPECT_EQ(llama.weights, Format::kBf16);
  EXPECT_EQ(llama.kv_cache, Dtype::kBf16);
  const Precision deepseek = native_precision(load_model("deepseek-v3"));
  EXPECT_EQ(deepseek.weights, Format::kFp8Block);
  EXPECT_EQ(deepseek.experts, Format::kFp8Block);
  EXPECT_EQ(deepseek.lm_head, Format::kBf16);
  EXPECT_EQ(deepseek.attention, Dtype::kBf16);
  const Precision oss = native_precision(load_model("gpt-oss-120b"));
  EXPECT_EQ(oss.weights, Format::kBf16);
  EXPECT_EQ(oss.experts, Format::kMxfp4);
}

// Mixers and dense MLPs of the model in this format.
void store_layers(Architecture& model, const StoredFormat& format) {
  model.quantization.parts = {{WeightPart::kMixers, format, 1, Bytes(1), 1},
                              {WeightPart::kDenseMlps, format, 1, Bytes(1), 1}};
}

TEST(NativePrecision, ReadsEveryWayOfStoring) {
  Architecture model = load_model("llama-3-8b");
  model.dtype = Dtype::kFp32;
  EXPECT_EQ(native_precision(model).weights, Format::kFp16);
  EXPECT_EQ(native_precision(model).activations, Dtype::kFp16);
  model.dtype = Dtype::kFp16;
  struct Way {
    WeightFormat stored;
    bool weights_only;
    Format served;
  };
  for (const Way& way : {
           Way{WeightFormat::kInt4, true, Format::kInt4Weight},
           Way{WeightFormat::kInt4, false, Format::kInt4Fp8},
           Way{WeightFormat::kInt8, true, Format::kInt8Weight},
           Way{WeightFormat::kInt8, false, Format::kInt8},
           Way{WeightFormat::kFp8, false, Format::kFp8},
           Way{WeightFormat::kMxfp4, true, Format::kMxfp4},
           Way{WeightFormat::kMxfp4, false, Format::kMxfp4Fp8},
           Way{WeightFormat::kNvfp4, false, Format::kNvfp4},
           Way{WeightFormat::kNvfp4, true, Format::kMxfp4},
       }) {
    store_layers(model, {.format = way.stored, .weights_only = way.weights_only});
    const Precision p = native_precision(model);
    EXPECT_EQ(p.weights, way.served);
    EXPECT_EQ(p.experts, way.served);
    EXPECT_FALSE(p.mixers.has_value());
    EXPECT_EQ(p.lm_head, Format::kFp16);
  }
  store_layers(model, {.format = WeightFormat::kFp8, .block_rows = 128, .block_columns = 128});
  EXPECT_EQ(native_precision(model).weights, Format::kFp8Block);
}

// Each part has the format in which most of its bytes are stored.
TEST(NativePrecision, PartsHaveFormatsOfTheirOwn) {
  Architecture model = load_model("mixtral-8x7b");
  const StoredFormat plain, int4{.format = WeightFormat::kInt4, .weights_only = true};
  const StoredFormat fp8{.format = WeightFormat::kFp8};
  model.quantization.parts = {{WeightPart::kMixers, plain, 10, Bytes(20), 4},
                              {WeightPart::kMixers, int4, 30, Bytes(16), 28},
                              {WeightPart::kRoutedExperts, int4, 90, Bytes(48), 32}};
  EXPECT_EQ(native_precision(model).weights, Format::kBf16);
  EXPECT_EQ(native_precision(model).experts, Format::kInt4Weight);
  model.quantization.parts.push_back({WeightPart::kSharedExperts, fp8, 9, Bytes(9), 32});
  model.quantization.parts.push_back({WeightPart::kLmHead, fp8, 9, Bytes(9), 0});
  const Precision p = native_precision(model);
  EXPECT_EQ(p.weights, Format::kFp8);
  EXPECT_EQ(p.mixers, Format::kBf16);
  EXPECT_EQ(p.lm_head, Format::kFp8);
  EXPECT_EQ(p.kv_cache, Dtype::kBf16);
  model.quantization.kv_cache = KvFormat::kFp8;
  EXPECT_EQ(native_precision(model).kv_cache, Dtype::kFp8);
}

TEST(CheckPlan, RedundantExpertsMakeWideGroupsDivide) {
  const Architecture model = load_model("deepseek-v3");  // 256 experts
  ParallelPlan plan{.dp = 72, .ep = 72};
  EXPECT_THAT(refusal<Infeasible>(model, plan),
              HasSubstr("ep 72 does not divide the 256 experts of deepseek-v3 "
                        "(ep_num_redundant_experts 32 would make them 288)"));
  plan.experts.redundant = 31;
  EXPECT_THAT(refusal<Infeasible>(model, plan),
              HasSubstr("does not divide the 256 experts and 31 redundant ones"));
  plan.experts.redundant = 32;
  for (const int ranks : {48, 72, 144, 288}) {
    plan.dp = plan.ep = ranks;
    EXPECT_NO_THROW(check_plan(model, plan)) << ranks;
  }
  // 512 copies on one rank of two: more than the 256 experts.
  plan.dp = plan.ep = 2;
  plan.experts.redundant = 768;
  EXPECT_THAT(refusal<Infeasible>(model, plan), HasSubstr("two copies of an expert"));
}

// GLM-4-9B has 2 key-value heads, DeepSeek-V2-Lite one latent.
TEST(CheckPlan, CachesAreDividedAmongTheRanksWithCopies) {
  const auto with = [](int tp, int cp) { return ParallelPlan{.tp = tp, .cp = cp}; };
  const Architecture glm = load_model("glm-4-9b"), latent = load_model("deepseek-v2-lite");
  for (const int cp : {1, 2, 4}) EXPECT_NO_THROW(check_plan(glm, with(8, cp))) << cp;
  for (const int cp : {1, 2, 4, 8}) EXPECT_NO_THROW(check_plan(latent, with(8, cp))) << cp;
  EXPECT_THAT(refusal<Infeasible>(glm, with(8, 8)), HasSubstr("valid cp: 1, 2, 4"));
  EXPECT_THAT(refusal<Infeasible>(glm, with(2, 2)), HasSubstr("valid cp: 1"));
  EXPECT_THAT(refusal<Infeasible>(latent, with(8, 3)), HasSubstr("valid cp: 1, 2, 4, 8"));
  EXPECT_THROW(check_plan(glm, with(8, 0)), InputError);
  for (const char* other : {"gemma-2-9b", "deepseek-v3.2", "qwen3-next-80b-a3b", "bert-base"})
    EXPECT_THAT(refusal<NoData>(load_model(other), with(4, 2)), HasSubstr("cp above 1")) << other;
}

TEST(CheckPlan, DeepEpNeedsGroupsOfAttentionToMoveTokensBetween) {
  const Architecture model = load_model("deepseek-v3");
  ParallelPlan plan{.tp = 8, .ep = 8};
  plan.experts.transport = ExpertTransport::kDeepEp;
  EXPECT_THAT(refusal<Infeasible>(model, plan), HasSubstr("needs dp above 1"));
  plan.experts.transport = ExpertTransport::kAuto;
  plan.experts.two_batch = true;
  EXPECT_THAT(refusal<Infeasible>(model, plan), HasSubstr("two-batch overlap hides"));
  plan = {.dp = 16, .ep = 16, .experts = {.two_batch = true}};
  EXPECT_NO_THROW(check_plan(model, plan));
}

}  // namespace plan_test
}  // namespace orrery
