// Laws that an answer for an LLM keeps whatever was fitted.
#include "orrery/edge/llm/llm_answer.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace llm_answer_test {

class LlmAnswers : public testing::Test {
 protected:
  LlmFile file(const char* model, const char* format = "Q4_K_M") {
    return LlmFile(load_model(model), gguf_format(format));
  }
  LlmAnswer ask(const LlmFile& of, const char* chip, const LlmQuestion& q = {}) {
    return LlmPredictor(laws, chips.chip(chip)).answer(of, q);
  }
  const Bundle bundle;
  const LlmChips chips{bundle};
  const LlmLaws laws = read_llm_laws(bundle);
};

TEST_F(LlmAnswers, DecodeNeverBeatsTheBandwidth) {
  for (const char* model : {"llama-3.2-1b", "llama-3.1-8b", "gpt-oss-20b"}) {
    for (const char* format : {"F16", "Q8_0", "Q4_0", "Q4_K_M"}) {
      const LlmFile of = file(model, format);
      for (const LlmChip& chip : chips.all()) {
        const double rate = LlmPredictor(laws, chip).answer(of, {}).decode.value.value();
        EXPECT_LE(rate * (of.read(1) / chip.bandwidth).value(), 1) << chip.id << " " << model;
      }
    }
  }
}

TEST_F(LlmAnswers, LongerAndDeeperIsNeverFaster) {
  for (const char* model : {"llama-2-7b", "gpt-oss-20b", "gemma-3-4b"}) {
    const LlmFile of = file(model);
    for (const char* chip : {"rtx-4090", "m2-max-38", "ryzen-ai-max-395", "raspberry-pi-5"}) {
      for (const int devices : {1, 4}) {
        Seconds prompt;
        for (const double tokens : {1.0, 16.0, 511.0, 512.0, 513.0, 1024.0, 1025.0, 9000.0}) {
          LlmQuestion q;
          q.prompt = tokens, q.devices = devices;
          const Seconds time = ask(of, chip, q).prompt_time.value;
          EXPECT_GT(time, prompt) << model << " " << chip << " " << devices << " " << tokens;
          prompt = time;
        }
        TokensPerSecond decode(1e9);
        for (const double depth : {0.0, 100.0, 4000.0, 60000.0}) {
          LlmQuestion q;
          q.depth = depth, q.devices = devices;
          const LlmAnswer a = ask(of, chip, q);
          EXPECT_LT(a.decode.value, decode) << model << " " << chip << " " << depth;
          decode = a.decode.value;
        }
      }
    }
  }
}

// gpt-oss-20b has 24 layers of 32 experts, four of them for each token. An expert has three
// matrices of 2880 x 2880 and three biases. Half a tile of 16 rows passes through every expert that
// is chosen; 512 tokens choose all.
TEST_F(LlmAnswers, ExpertsMultiplyWholeTiles) {
  const LlmFile mixture = file("gpt-oss-20b", "MXFP4");
  const double row = 2.0 * 24 * 32 * 3 * 2880 * 2881;
  EXPECT_NEAR(mixture.padding(512).value() / (16 * row), 1, 1e-6);
  EXPECT_NEAR(mixture.padding(1).value() / (16 * row), 4.0 / 32, 1e-6);
  EXPECT_EQ(file("llama-3.1-8b").padding(512), Flops(0));
}

// Llama 2 7B, by hand: a layer reads and writes 9 + 6 + 4 + 6 times 4,096 elements and 6 times
// 11,008, of four bytes each.
TEST_F(LlmAnswers, ActivationsAreThoseOfTheKernels) {
  EXPECT_DOUBLE_EQ(file("llama-2-7b").activations().value(), 32.0 * 4 * (25 * 4096 + 6 * 11008));
}

// Llama 2 7B, by hand: 32 layers of 4 * 4,096^2 + 3 * 4,096 * 11,008 weights are written and read
// in 16 bits; the LM head multiplies one row, and short passes multiply by packed weights.
TEST_F(LlmAnswers, LongPassesUnpackWhatIsPacked) {
  const double weights = 32.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008);
  EXPECT_DOUBLE_EQ(file("llama-2-7b", "Q4_0").unpacked(512).value(), 4 * weights);
  EXPECT_EQ(file("llama-2-7b", "Q4_0").unpacked(63), Bytes(0));
  EXPECT_EQ(file("llama-2-7b", "F16").unpacked(512), Bytes(0));
  const LlmFile mixture = file("gpt-oss-20b", "MXFP4");  // 4 of 32 experts: nearly all are chosen
  EXPECT_LT(mixture.unpacked(64), mixture.unpacked(512));
}

// Llama 2 7B has a head of keys for each of queries, Llama 3.1 8B one for 4, gpt-oss one for 8,
// Qwen 2.5 14B one for 5.
TEST_F(LlmAnswers, HeadsArePackedByPowersOfTwo) {
  EXPECT_EQ(file("llama-2-7b").packed_heads(), 0);
  EXPECT_EQ(file("llama-3.1-8b").packed_heads(), 2);
  EXPECT_EQ(file("gpt-oss-20b").packed_heads(), 3);
  EXPECT_EQ(file("qwen2.5-14b").packed_heads(), 0);
}

// The slopes of a chip's numbers are those of what a chip is, not of what it would become: they
// must not turn a faster memory or a faster unit into a slower answer.
TEST_F(LlmAnswers, MoreBandwidthAndRateAreNeverSlower) {
  const LlmFile of = file("llama-3.1-8b");
  for (const LlmChip& chip : chips.all()) {
    LlmChip memory = chip, units = chip;
    memory.bandwidth *= 1.3, units.matrix *= 1.3;
    const LlmAnswer before = LlmPredictor(laws, chip).answer(of, {});
    const LlmAnswer wider = LlmPredictor(laws, memory).answer(of, {});
    const LlmAnswer faster = LlmPredictor(laws, units).answer(of, {});
    EXPECT_GE(wider.decode.value, before.decode.value) << chip.id;
    EXPECT_GE(wider.prefill.value, before.prefill.value) << chip.id;
    EXPECT_GE(faster.prefill.value, before.prefill.value) << chip.id;
    EXPECT_GE(faster.decode.value, before.decode.value) << chip.id;
  }
}

TEST_F(LlmAnswers, RefusesWhatTheMemoryDoesNotHold) {
  // 39.6 GiB of weights: not on 24 GiB, but on two boards of them.
  const LlmFile large = file("llama-3-70b");
  EXPECT_FALSE(ask(large, "rtx-3090").fit.fits());
  LlmQuestion two;
  two.devices = 2;
  EXPECT_TRUE(ask(large, "rtx-3090", two).fit.fits());
  // Metal gives two thirds of 8 GiB: a cache of 4096 tokens fits beside 4.6 GiB, 8192 do not.
  const LlmFile small = file("llama-3-8b");
  LlmQuestion q;
  q.memory = gibibytes(8), q.generate = 1, q.prompt = 4095;
  EXPECT_TRUE(ask(small, "m1-7", q).fit.fits());
  q.prompt = 8191;
  const LlmAnswer refused = ask(small, "m1-7", q);
  EXPECT_FALSE(refused.fit.fits());
  ASSERT_TRUE(refused.longest_context);
  EXPECT_GT(*refused.longest_context, 4096);
  EXPECT_LT(*refused.longest_context, 8192);
}

TEST_F(LlmAnswers, MeasuredRatesMoveTheAnswerAndNarrowIt) {
  const LlmFile of = file("llama-3.1-8b");
  LlmPredictor predictor(laws, chips.chip("rtx-5060"));
  const LlmAnswer before = predictor.answer(of, {});
  LlmQuestion q;
  q.depth = q.prompt;  // a measured decode states its depth
  predictor.calibrate({{&of, q, {}, before.decode.value * 0.8}});
  const LlmAnswer after = predictor.answer(of, {});
  EXPECT_LT(after.decode.value, before.decode.value * 0.9);
  EXPECT_GT(after.decode.value, before.decode.value * 0.75);
  EXPECT_LT(after.decode.sigma(), before.decode.sigma());
  EXPECT_DOUBLE_EQ(after.prefill.value.value(), before.prefill.value.value());
}

TEST_F(LlmAnswers, DraftsHelpAsTheyAreAccepted) {
  EXPECT_DOUBLE_EQ(tokens_of_step(0, 0.9), 1);
  EXPECT_DOUBLE_EQ(tokens_of_step(2, 0.5), 1.75);
  const LlmFile of = file("llama-3.1-8b"), draft = file("llama-3.2-1b");
  const LlmPredictor predictor(laws, chips.chip("rtx-3090"));
  TokensPerSecond rate;
  for (const double acceptance : {0.0, 0.4, 0.8, 0.95}) {
    LlmQuestion q;
    q.draft_tokens = 4, q.acceptance = acceptance;
    const TokensPerSecond now = predictor.answer(of, q, &draft).decode.value;
    EXPECT_GT(now, rate);
    rate = now;
  }
  LlmQuestion wrong;
  wrong.acceptance = 1;
  EXPECT_THROW(predictor.answer(of, wrong), InputError);
}

TEST_F(LlmAnswers, ChipsAreFoundInTheWordsOfTables) {
  EXPECT_EQ(chips.in_text("NVIDIA GeForce RTX 4080 SUPER")->id, "rtx-4080-super");
  EXPECT_EQ(chips.in_text("Radxa Orion O6 - 16GB (Nvidia RTX 3080 Ti)")->id, "rtx-3080-ti");
  EXPECT_EQ(chips.in_text("Apple M3 Pro 5P+6E+14GPU")->id, "m3-pro-14");
  EXPECT_EQ(chips.in_text("Ryzen 9 7950X (Nvidia 4080)")->id, "rtx-4080");
  EXPECT_EQ(chips.in_text("a toaster"), nullptr);
  EXPECT_THROW(chips.chip("rtx-4081"), InputError);
  // Facts of chips that the catalog of GPUs has are the catalog's.
  const Gpu gpu = Catalog(bundle).gpu("rtx-4090");
  EXPECT_EQ(chips.chip("rtx-4090").bandwidth, gpu.memory.bandwidth);
}

TEST_F(LlmAnswers, TheLawsTextHasEveryEffect) {
  const std::string text = llm_laws_text(laws);
  EXPECT_FALSE(laws.decode.effects.empty());
  for (const auto& [name, value] : laws.decode.effects)
    EXPECT_NE(text.find('"' + name + '"'), std::string::npos) << name;
}

}  // namespace llm_answer_test
}  // namespace orrery
