#include "orrery/memory/weights.h"

#include <gtest/gtest.h>

#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace weights_test {

double all_stages(const Architecture& model, const ParallelPlan& plan, const Precision& precision) {
  double sum = 0;
  for (int stage = 0; stage < plan.pp; ++stage)
    sum += stage_weights(model, plan, precision, stage).value();
  return sum;
}

double gb(const std::string& model, const Precision& precision = {}) {
  return all_stages(load_model(model), {}, precision) / 1e9;
}

// On one device every parameter is held once, at two bytes; only the vocabulary's padding is more.
// Two ways of counting: by rank here, by layer in count_parameters.
TEST(Weights, OneDeviceHoldsEveryParameter) {
  for (const std::string& id : model_ids()) {
    const Architecture model = load_model(id);
    if (model.kind == Kind::kEncoderDecoder) continue;
    const double parameters = static_cast<double>(count_parameters(model).total());
    const double held = all_stages(model, {}, {}) / 2;
    EXPECT_GE(held, parameters * 0.99999) << id;
    EXPECT_LE(held, parameters + 2.0 * 64 * model.hidden) << id;
  }
}

TEST(Weights, PublishedSizes) {
  EXPECT_NEAR(gb("llama-2-7b"), 13.48, 0.02);
  EXPECT_NEAR(gb("mixtral-8x7b"), 93.4, 0.2);
  EXPECT_NEAR(gb("llama-2-70b"), 137.95, 0.1);
}

TEST(Weights, QuantisedFormatsCountTheirScales) {
  const Precision int4{.weights = Format::kInt4Weight};
  EXPECT_GE(gb("llama-2-70b", int4), 34.5);
  EXPECT_LE(gb("llama-2-70b", int4), 40);
  // Llama-2-70B: 68.45e9 in projections, 0.524e9 in embedding and LM head; norms 1.3e6.
  EXPECT_NEAR(gb("llama-2-70b", {.weights = Format::kFp8}), 68.45 + 2 * 0.524, 0.05);
  // mxfp4 experts of gpt-oss-120b: 36 layers * 128 experts * 3 * 2880^2 at 17/32 bytes: 60.9 GB;
  // the rest 4.2 GB.
  EXPECT_NEAR(gb("gpt-oss-120b", {.experts = Format::kMxfp4}), 65.2, 0.6);
}

// Llama 3.1 405B FP8 keeps attention in 16 bits: 126 layers of 2 * 16384^2 + 2 * 16384 * 1024
// elements have a byte more than in a checkpoint that is fp8 throughout.
TEST(Weights, AttentionThatTheCheckpointLeavesOutStaysWide) {
  const Architecture model = load_model("llama-3.1-405b-fp8");
  const Precision stored = native_precision(model);
  Precision narrow = stored;
  narrow.mixers.reset();
  EXPECT_EQ(stored.weights, Format::kFp8);
  EXPECT_EQ(stored.mixer_weights(), Format::kBf16);
  const double attention = 126 * (2.0 * 16384 * 16384 + 2.0 * 16384 * 1024);
  EXPECT_NEAR(all_stages(model, {}, stored) - all_stages(model, {}, narrow), attention,
              attention * 0.001);
}

TEST(Weights, TensorParallelRanksShareMatricesAndCopyNorms) {
  const Architecture model = load_model("llama-3-70b");
  const double whole = stage_weights(model, {}, {}, 0).value();
  const double part = stage_weights(model, {.tp = 8}, {}, 0).value();
  const double norms = (80 * 2 + 1) * 8192 * 2.0;
  EXPECT_NEAR(8 * part, whole + 7 * norms, 1);
}

TEST(Weights, KeyValueHeadsAreCopiedBeyondTheirNumber) {
  const Architecture model = load_model("llama-3-70b");  // 8 key-value heads of 128
  const double at8 = stage_weights(model, {.tp = 8}, {}, 0).value();
  const double at16 = stage_weights(model, {.tp = 16}, {}, 0).value();
  const double norms = (80 * 2 + 1) * 8192 * 2.0;
  const double copied = 80 * 2.0 * 128 * 8192 * 2;
  EXPECT_NEAR(at16 - norms - copied, (at8 - norms - copied) / 2, 1);
}

TEST(Weights, ExpertsAreDividedByExpertParallelism) {
  const Architecture model = load_model("mixtral-8x7b");
  const double experts = 32.0 * 8 * 3 * 4096 * 14336 * 2;
  const double one = stage_weights(model, {}, {}, 0).value();
  // Two replicas of attention share the experts: whichever way they are cut, half of them.
  EXPECT_NEAR(stage_weights(model, {.dp = 2, .ep = 2}, {}, 0).value(), one - experts / 2, 1);
  EXPECT_NEAR(stage_weights(model, {.dp = 2, .ep = 1}, {}, 0).value(), one - experts / 2, 1);
}

TEST(Weights, StagesHoldTheirLayersAndTheEnds) {
  const Architecture model = load_model("llama-3-70b");
  const double whole = stage_weights(model, {}, {}, 0).value();
  EXPECT_NEAR(all_stages(model, {.pp = 4}, {}), whole, 1);
  const double table = 128256.0 * 8192 * 2;
  const double middle = stage_weights(model, {.pp = 4}, {}, 1).value();
  EXPECT_NEAR(stage_weights(model, {.pp = 4}, {}, 0).value(), middle + table, 1);
  EXPECT_NEAR(stage_weights(model, {.pp = 4}, {}, 3).value(), middle + table + 8192 * 2, 1);
}

TEST(Weights, ATiedTableIsHeldByBothEnds) {
  const Architecture model = load_model("llama-3.2-1b");
  const double table = 128256.0 * 2048 * 2;
  EXPECT_NEAR(all_stages(model, {.pp = 2}, {}), stage_weights(model, {}, {}, 0).value() + table, 1);
}

// DeepSeek-V3, 58 layers: 32 more experts of 3 x 7168 x 2048 on 72 ranks of 288 copies are four
// copies a rank, as many as 64 ranks hold of 256.
TEST(Weights, RedundantExpertsAreHeld) {
  const Architecture model = load_model("deepseek-v3");
  ParallelPlan wide{.dp = 72, .ep = 72};
  wide.experts.redundant = 32;
  const ParallelPlan plain{.dp = 64, .ep = 64};
  EXPECT_DOUBLE_EQ(stage_weights(model, wide, {}, 0).value(),
                   stage_weights(model, plain, {}, 0).value());
  ParallelPlan twice{.dp = 64, .ep = 64};
  twice.experts.redundant = 256;
  EXPECT_DOUBLE_EQ(
      stage_weights(model, twice, {}, 0).value() - stage_weights(model, plain, {}, 0).value(),
      58 * 4 * 3 * 7168.0 * 2048 * 2);
}

}  // namespace weights_test
}  // namespace orrery
