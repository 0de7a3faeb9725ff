// Does the count of parameters come out of the dimensions?
#include "orrery/model/architecture/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/model/catalog/catalog.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace parameters_test {

std::int64_t total(const std::string& id) { return count_parameters(load_model(id)).total(); }

// Literal totals of released checkpoints, independent of the index.
TEST(Parameters, ExactTotalsOfReleasedCheckpoints) {
  EXPECT_EQ(total("llama-2-7b"), 6'738'415'616);
  EXPECT_EQ(total("llama-2-13b"), 13'015'864'320);
  EXPECT_EQ(total("llama-2-70b"), 68'976'648'192);
  EXPECT_EQ(total("llama-3-8b"), 8'030'261'248);
  EXPECT_EQ(total("llama-3-70b"), 70'553'706'496);
  EXPECT_EQ(total("llama-3.2-1b"), 1'235'814'400);  // tied embeddings
  EXPECT_EQ(total("mixtral-8x7b"), 46'702'792'704);
  EXPECT_EQ(total("gpt2"), 124'439'808);
  EXPECT_EQ(total("gpt2-medium"), 354'823'168);
  EXPECT_EQ(total("gpt-j-6b"), 6'050'882'784);
  EXPECT_EQ(total("qwen2.5-7b"), 7'615'616'512);
  EXPECT_EQ(total("qwen3-30b-a3b"), 30'532'122'624);
  EXPECT_EQ(total("gemma-2-9b"), 9'241'705'984);
  EXPECT_EQ(total("bloom-176b"), 176'247'271'424);
  EXPECT_EQ(total("deepseek-v2-lite"), 15'706'484'224);
  EXPECT_EQ(total("nemotron-nano-9b"), 8'888'227'328);  // Mamba-2 hybrid
  EXPECT_EQ(total("bert-base"), 110'106'428);
  EXPECT_EQ(total("t5-11b"), 11'307'321'344);
}

// The share `least` of a published count, or half of its last digit that is not zero (0.5e9 of
// 13,000,000,000, printed as "13B"), but not more than the share `most`.
double rounded_tolerance(std::int64_t published, double least, double most) {
  const auto count = static_cast<double>(published);
  double unit = 1;
  for (; published % 10 == 0; published /= 10) unit *= 10;
  return std::clamp(0.5 * unit, least * count, most * count);
}

// Published counts that are missed by more than the tolerance, and by how much at most.
struct Miss {
  const char* id;
  double total;
  double active;
};
constexpr Miss kMisses[] = {
    {"deepseek-v4-pro", 0.05e12, 0.02 * 49e9},  // 1.573T, published with two digits: 1.6T
    {"minimax-m3", 0.005 * 428e9, 0.51e9},      // 23.5B active, published as about 23B
};

TEST(Parameters, PublishedTotalsAreMetWithinHalfAPercentAndActiveCountsWithinTwo) {
  int totals = 0;
  int actives = 0;
  for (const ModelEntry& e : model_index()) {
    SCOPED_TRACE(e.id);
    ASSERT_TRUE(e.published_total.has_value());
    EXPECT_FALSE(e.source.empty());
    double total_within = rounded_tolerance(*e.published_total, 0.005, 0.01);
    double active_within = rounded_tolerance(e.published_active.value_or(1), 0.02, 0.05);
    for (const Miss& miss : kMisses) {
      if (e.id != miss.id) continue;
      total_within = miss.total;
      active_within = miss.active;
    }
    const ParameterCounts n = count_parameters(load_model(e.id));
    EXPECT_NEAR(static_cast<double>(counted_total(e, n)), static_cast<double>(*e.published_total),
                total_within);
    ++totals;
    if (e.published_active) {
      EXPECT_NEAR(static_cast<double>(counted_active(e, n)),
                  static_cast<double>(*e.published_active), active_within);
      ++actives;
    }
  }
  EXPECT_GE(totals, 200);
  EXPECT_GE(actives, 45);
}

TEST(Parameters, PublishedCountsOfTheSuite) {
  const std::pair<const char*, double> suite[] = {
      {"llama-2-7b", 6.74e9},   {"llama-2-13b", 13.02e9}, {"llama-2-70b", 68.98e9},
      {"llama-3-8b", 8.03e9},   {"llama-3-70b", 70.55e9}, {"gpt-3-175b", 174.6e9},
      {"mixtral-8x7b", 46.7e9}, {"falcon-40b", 41.3e9}};
  for (const auto& [id, params] : suite) {
    EXPECT_NEAR(static_cast<double>(total(id)), params, 0.005 * params) << id;
  }
  EXPECT_NEAR(static_cast<double>(count_parameters(load_model("mixtral-8x7b")).active()), 12.9e9,
              0.005 * 12.9e9);
}

// Llama-2-70B by hand: q and o 8192^2 each, k and v 8192 x 1024 each; MLP 3 x 8192 x 28672; two
// norms.
TEST(Parameters, PartsOfALayerWithGroupedQueries) {
  const Architecture m = load_model("llama-2-70b");
  const LayerParameters n = count_parameters(m.layers.at(0), m.hidden, m.norm);
  EXPECT_EQ(n.mixer, 2 * 67'108'864 + 2 * 8'388'608);
  EXPECT_EQ(n.mlp, 704'643'072);
  EXPECT_EQ(n.norms, 16'384);
  EXPECT_EQ(n.router + n.shared_experts + n.expert, 0);
  EXPECT_EQ(n.active(), n.total());
  const ParameterCounts all = count_parameters(m);
  EXPECT_EQ(all.embedding, 262'144'000);
  EXPECT_EQ(all.lm_head, 262'144'000);
  EXPECT_EQ(all.layers, 80 * n.total());
  EXPECT_EQ(all.final_norms, 8'192);
}

// Mixtral: an expert is 3 x 4096 x 14336; a token uses two of eight.
TEST(Parameters, ExpertsCountOnceInTotalAndTopKTimesInActive) {
  const Architecture m = load_model("mixtral-8x7b");
  const LayerParameters n = count_parameters(m.layers.at(0), m.hidden, m.norm);
  EXPECT_EQ(n.expert, 176'160'768);
  EXPECT_EQ(n.router, 32'768);
  EXPECT_EQ(n.total() - n.active(), 6 * n.expert);
  const ParameterCounts all = count_parameters(m);
  EXPECT_EQ(all.total() - all.active(), 32 * 6 * n.expert);
  EXPECT_EQ(all.active() - all.active_without_embedding(), 131'072'000);
}

// DeepSeek-V3 by hand: q_a 7168 x 1536, its norm, q_b 1536 x 128*192, kv_a 7168 x 576, its norm,
// kv_b 512 x 128*256, o 128*128 x 7168. One MTP layer: a MoE layer, 2*7168 x 7168, three norms.
TEST(Parameters, LatentAttentionAndMtpOfDeepSeekV3) {
  const Architecture m = load_model("deepseek-v3");
  const LayerParameters n = count_parameters(m.layers.at(60), m.hidden, m.norm);
  EXPECT_EQ(n.mixer, 11'010'048 + 1'536 + 37'748'736 + 4'128'768 + 512 + 16'777'216 + 117'440'512);
  EXPECT_EQ(n.expert, 44'040'192);
  EXPECT_EQ(n.shared_experts, 44'040'192);
  EXPECT_EQ(n.router, 7'168 * 256 + 256);
  const ParameterCounts all = count_parameters(m);
  EXPECT_EQ(all.total(), 671'026'419'200);
  EXPECT_EQ(all.mtp, n.total() + 102'760'448 + 3 * 7'168);
}

TEST(Parameters, TiedEmbeddingIsCountedOnce) {
  const ParameterCounts n = count_parameters(load_model("gemma-2b"));
  EXPECT_EQ(n.embedding, 256'000 * 2'048);
  EXPECT_EQ(n.lm_head, 0);
  EXPECT_EQ(n.active_without_embedding(), n.total());
}

// Two encoder and two decoder layers of width 8, 2 heads of 4, MLP 16, 4 experts in the second of
// each; 32 buckets. Attention 4 x 8 x 8 = 256. Plain encoder layer 256 + 2*8*16 + 2*8 = 528; plain
// decoder layer 2*256 + 256 + 3*8 = 792. With experts: 4 x 256 + router 32 in place of 256, so 800
// more.
TEST(Parameters, SwitchTransformerByHand) {
  const Architecture m =
      read_text(R"({"architectures": ["SwitchTransformersForConditionalGeneration"],
    "d_model": 8, "d_kv": 4, "d_ff": 16, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 2,
    "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_experts": 4,
    "vocab_size": 100})");
  const ParameterCounts n = count_parameters(m);
  EXPECT_EQ(n.layers, 2 * 528 + 800 + 2 * 792 + 800);
  EXPECT_EQ(n.layers_active, n.layers - 2 * 3 * 256);
  EXPECT_EQ(n.positions, 2 * 32 * 2);
  EXPECT_EQ(n.embedding, 800);
  EXPECT_EQ(n.total(), n.layers + 128 + 800 + 2 * 8);
}

// Width 8; 2 key heads of 4, 4 value heads of 4, convolution 4: in 8 x (2*8 + 2*16 + 2*4),
// convolution 4 x 32, A and dt 2 x 4, norm 4, out 16 x 8. Full attention: q and gate 8 x 8 each, k
// and v 8 x 4 each, o 8 x 8, norms 2 x 4.
TEST(Parameters, GatedDeltaNetByHand) {
  const Architecture m = read_text(R"({"architectures": ["Qwen3NextForCausalLM"], "hidden_size": 8,
    "intermediate_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4, "hidden_act": "silu", "linear_num_key_heads": 2, "linear_key_head_dim": 4,
    "linear_num_value_heads": 4, "linear_value_head_dim": 4, "linear_conv_kernel_dim": 4,
    "vocab_size": 10, "max_position_embeddings": 64})");
  EXPECT_EQ(count_parameters(m.layers.at(0), 8, Norm::kRms).mixer, 448 + 128 + 8 + 4 + 128);
  EXPECT_EQ(count_parameters(m.layers.at(3), 8, Norm::kRms).mixer, 128 + 64 + 64 + 8);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).recurrent.total(), 4 * 4 * 4);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).convolution.total(), 3 * 32);
  EXPECT_EQ(kept_state(m.layers.at(3).mixer).cached().total(), 2 * 4);
}

TEST(Parameters, CacheElementsPerToken) {
  EXPECT_EQ(kept_state(load_model("llama-2-7b").layers.at(0).mixer).cached().total(), 8'192);
  EXPECT_EQ(kept_state(load_model("llama-3-8b").layers.at(0).mixer).cached().total(), 2'048);
  EXPECT_EQ(kept_state(load_model("falcon-7b").layers.at(0).mixer).cached().total(), 128);
  EXPECT_EQ(kept_state(load_model("deepseek-v3").layers.at(0).mixer).cached().total(), 576);
  EXPECT_EQ(kept_state(load_model("deepseek-v3.2").layers.at(0).mixer).index().total(), 128);
  const Mixer mamba = load_model("nemotron-nano-9b").layers.at(0).mixer;
  EXPECT_EQ(kept_state(mamba).cached().total(), 0);
  EXPECT_EQ(kept_state(mamba).recurrent.total(), 128 * 80 * 128);
  EXPECT_EQ(kept_state(mamba).convolution.total(), 3 * (10'240 + 2'048));
}

}  // namespace parameters_test
}  // namespace orrery
