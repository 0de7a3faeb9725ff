// Do tiny configs of the families that differ from Llama in norms, biases, windows or experts have
// the parameters that one counts by hand?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/testing.h"

namespace orrery {
namespace kin_test {

using ::testing::HasSubstr;

// Hidden 8, four heads of 3 over two KV heads, unless `more` says otherwise.
std::string tiny(const std::string& architecture, const std::string& more) {
  return R"({"architectures": [")" + architecture + R"("], "hidden_size": 8, "vocab_size": 32,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 3, "hidden_act": "silu",
    "intermediate_size": 20, "max_position_embeddings": 64, "tie_word_embeddings": false)" +
         more + "}";
}

LayerParameters layer(const Architecture& m, int i) {
  return count_parameters(m.layers.at(i), m.hidden, m.norm);
}

const SoftmaxAttention& attention(const Architecture& m, int i) {
  return std::get<SoftmaxAttention>(m.layers.at(i).mixer);
}

constexpr int kPlain = 2 * 8 * 12 + 2 * 8 * 6;  // q and o, k and v

// Biases on q (12), k and v (6 each), none on o.
TEST(Kin, SeedOssHasBiasesBeforeAttentionOnly) {
  const Architecture m = read_text(tiny("SeedOssForCausalLM", R"(, "num_hidden_layers": 2,
    "attention_bias": true, "attention_out_bias": false)"));
  EXPECT_EQ(layer(m, 0).mixer, kPlain + 12 + 6 + 6);
  EXPECT_EQ(layer(m, 0).mlp, 3 * 8 * 20);
  EXPECT_EQ(layer(m, 0).norms, 2 * 8);
  EXPECT_EQ(count_parameters(m).lm_head, 32 * 8);
}

TEST(Kin, SmolLm3RotatesThreeOfFourLayersUnlessItsListSaysOtherwise) {
  const Architecture every = read_text(tiny("SmolLM3ForCausalLM", R"(, "num_hidden_layers": 8)"));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(attention(every, i).rope, i != 3 && i != 7) << i;
  const Architecture list = read_text(tiny("SmolLM3ForCausalLM", R"(, "num_hidden_layers": 3,
    "no_rope_layers": [0, 1, 1])"));
  EXPECT_FALSE(attention(list, 0).rope);
  EXPECT_TRUE(attention(list, 2).rope);
  EXPECT_EQ(layer(list, 0).mixer, kPlain);
  EXPECT_THAT(error_of([] {
                read_text(tiny("SmolLM3ForCausalLM", R"(, "num_hidden_layers": 3,
    "no_rope_layers": [0, 1])"));
              }),
              HasSubstr("2 entries for 3 layers"));
}

// Norms over all of q (12) and all of k (6).
TEST(Kin, OlmoNormsWholeQueriesAndKeysAndTheThirdHasWindows) {
  const Architecture second = read_text(tiny("Olmo2ForCausalLM", R"(, "num_hidden_layers": 2)"));
  EXPECT_EQ(layer(second, 0).mixer, kPlain + 12 + 6);
  EXPECT_EQ(layer(second, 0).norms, 2 * 8);
  EXPECT_EQ(attention(second, 0).window, 0);
  const Architecture third = read_text(tiny("Olmo3ForCausalLM", R"(, "num_hidden_layers": 4,
    "sliding_window": 16, "layer_types": ["sliding_attention", "sliding_attention",
    "sliding_attention", "full_attention"])"));
  EXPECT_EQ(attention(third, 0).window, 16);
  EXPECT_EQ(attention(third, 3).window, 0);
  EXPECT_TRUE(attention(third, 3).rope);
}

// Norms of each head's query and key (3 each); letters, a period and names say the same.
TEST(Kin, ExaoneRotatesOnlyInItsWindows) {
  const Architecture letters = read_text(tiny("Exaone4ForCausalLM", R"(, "num_hidden_layers": 4,
    "sliding_window": 16, "sliding_window_pattern": "LLLG")"));
  const Architecture period = read_text(tiny("Exaone4ForCausalLM", R"(, "num_hidden_layers": 4,
    "sliding_window": 16, "sliding_window_pattern": 4)"));
  EXPECT_EQ(layer(letters, 0).mixer, kPlain + 3 + 3);
  EXPECT_EQ(letters.layers.specs(), period.layers.specs());
  EXPECT_EQ(letters.layers.runs(), period.layers.runs());
  EXPECT_EQ(attention(letters, 2).window, 16);
  EXPECT_TRUE(attention(letters, 2).rope);
  EXPECT_EQ(attention(letters, 3).window, 0);
  EXPECT_FALSE(attention(letters, 3).rope);
  const Architecture none = read_text(tiny("Exaone4ForCausalLM", R"(, "num_hidden_layers": 4,
    "sliding_window": null)"));
  EXPECT_TRUE(attention(none, 3).rope);
  EXPECT_THAT(error_of([] {
                read_text(tiny("Exaone4ForCausalLM", R"(, "num_hidden_layers": 4,
    "sliding_window": 16, "sliding_window_pattern": "LLXG")"));
              }),
              HasSubstr("the letters L and G"));
}

TEST(Kin, ArceeHasNoGate) {
  const Architecture m = read_text(R"({"architectures": ["ArceeForCausalLM"], "hidden_size": 8,
    "vocab_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 3, "hidden_act": "relu2", "intermediate_size": 20, "max_position_embeddings": 64,
    "tie_word_embeddings": false})");
  EXPECT_EQ(layer(m, 0).mlp, 2 * 8 * 20);
  EXPECT_EQ(layer(m, 0).mixer, kPlain);
}

// One dense layer, then four experts of 3x8x5 and two shared ones; the router has a correction.
TEST(Kin, ErnieHasExpertsFromItsSecondLayerOn) {
  const Architecture m =
      read_text(tiny("Ernie4_5_MoeForCausalLM", R"(, "num_hidden_layers": 3, "moe_num_experts": 4,
    "moe_k": 2, "moe_intermediate_size": 5, "moe_num_shared_experts": 2,
    "moe_layer_start_index": 1)"));
  EXPECT_EQ(layer(m, 0).mlp, 3 * 8 * 20);
  EXPECT_EQ(layer(m, 0).expert, 0);
  for (const int i : {1, 2}) {
    EXPECT_EQ(layer(m, i).expert, 3 * 8 * 5);
    EXPECT_EQ(layer(m, i).shared_experts, 3 * 8 * 10);
    EXPECT_EQ(layer(m, i).router, 8 * 4 + 4);
    EXPECT_EQ(layer(m, i).total() - layer(m, i).active(), 2 * 3 * 8 * 5);
  }
  EXPECT_THAT(error_of([] {
                read_text(tiny("Ernie4_5_MoeForCausalLM", R"(, "num_hidden_layers": 3,
    "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 5, "moe_layer_interval": 2)"));
              }),
              HasSubstr("moe_layer_interval"));
  const Architecture dense = read_text(tiny("Ernie4_5ForCausalLM", R"(, "num_hidden_layers": 2)"));
  EXPECT_EQ(layer(dense, 1).mlp, 3 * 8 * 20);
}

TEST(Kin, HunyuanListsTheSameExpertsForEachLayer) {
  const Architecture m =
      read_text(tiny("HunYuanMoEV1ForCausalLM", R"(, "num_hidden_layers": 2, "num_experts": 4,
    "moe_topk": [2, 2], "moe_intermediate_size": [5, 5], "num_shared_expert": [1, 1],
    "use_mixed_mlp_moe": true, "use_qk_norm": true)"));
  EXPECT_EQ(layer(m, 0).mixer, kPlain + 3 + 3);
  EXPECT_EQ(layer(m, 0).expert, 3 * 8 * 5);
  EXPECT_EQ(layer(m, 0).shared_experts, 3 * 8 * 5);
  EXPECT_EQ(layer(m, 0).router, 8 * 4);
  EXPECT_THAT(error_of([] {
                read_text(tiny("HunYuanMoEV1ForCausalLM", R"(, "num_hidden_layers": 2,
    "num_experts": 4, "moe_topk": [2, 1], "moe_intermediate_size": [5, 5],
    "num_shared_expert": [1, 1])"));
              }),
              HasSubstr("moe_topk"));
}

TEST(Kin, LingHasGroupsOfExpertsAndAModuleAhead) {
  const Architecture m =
      read_text(tiny("BailingMoeV2ForCausalLM", R"(, "num_hidden_layers": 2, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 5, "num_shared_experts": 1,
    "moe_shared_expert_intermediate_size": 7, "first_k_dense_replace": 1, "n_group": 2,
    "topk_group": 1, "num_nextn_predict_layers": 1)"));
  EXPECT_EQ(layer(m, 0).mixer, kPlain + 3 + 3);
  EXPECT_EQ(layer(m, 0).mlp, 3 * 8 * 20);
  EXPECT_EQ(layer(m, 1).shared_experts, 3 * 8 * 7);
  EXPECT_EQ(layer(m, 1).router, 8 * 4 + 4);
  EXPECT_EQ(std::get<MoeMlp>(m.layers.at(1).mlp).groups, 2);
  ASSERT_TRUE(m.mtp.has_value());
  EXPECT_EQ(count_parameters(m).mtp, layer(m, 1).total() + 2 * 8 * 8 + 3 * 8);
}

TEST(Kin, DotsNormsItsHeadsAndSharesTwoExperts) {
  const Architecture m =
      read_text(tiny("Dots1ForCausalLM", R"(, "num_hidden_layers": 2, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 5, "n_shared_experts": 2,
    "first_k_dense_replace": 1)"));
  EXPECT_EQ(layer(m, 0).mixer, kPlain + 3 + 3);
  EXPECT_EQ(layer(m, 1).expert, 3 * 8 * 5);
  EXPECT_EQ(layer(m, 1).shared_experts, 3 * 8 * 10);
  EXPECT_EQ(layer(m, 1).router, 8 * 4 + 4);
}

// Mamba-2 with 2 heads of 4 and a state of 3: in 8 x (2*8 + 2*3 + 2), convolution 14 x 4 + 14,
// decay, skip and time step of each head, norm 8, out 8x8.
TEST(Kin, GraniteHasStatesOrAttentionAndASharedMlpInEachLayer) {
  const std::string mamba = R"(, "mamba_n_heads": 2, "mamba_d_head": 4, "mamba_d_state": 3,
    "mamba_n_groups": 1, "mamba_d_conv": 4, "shared_intermediate_size": 6,
    "num_hidden_layers": 2, "layer_types": ["mamba", "attention"])";
  const Architecture experts =
      read_text(tiny("GraniteMoeHybridForCausalLM", mamba + R"(, "num_local_experts": 4,
    "num_experts_per_tok": 2)"));
  EXPECT_EQ(layer(experts, 0).mixer, 8 * 24 + 14 * 4 + 14 + 3 * 2 + 8 + 8 * 8);
  EXPECT_EQ(layer(experts, 1).mixer, kPlain);
  EXPECT_FALSE(attention(experts, 1).rope);
  EXPECT_EQ(layer(experts, 0).expert, 3 * 8 * 20);
  EXPECT_EQ(layer(experts, 0).shared_experts, 3 * 8 * 6);
  const Architecture dense =
      read_text(tiny("GraniteMoeHybridForCausalLM", mamba + R"(, "num_local_experts": 0)"));
  EXPECT_EQ(layer(dense, 1).mlp, 3 * 8 * 6);
}

// Vision of width 4, one block, patches of 2x2: 3x2x2x2 x 4; block: norms 8, qkv 4x12 + 12, out
// 4x4 + 4, gated MLP with biases 2 x (4x6 + 6) + 6x4 + 4; norm 4, merger of 16: 16x16 + 16 + 16x8
// + 8.
TEST(Towers, VisionOfQwen25VlHasGatedMlps) {
  const Architecture m = read_text(tiny("Qwen2_5_VLForConditionalGeneration",
                                        R"(, "num_hidden_layers": 1, "vision_config":
    {"depth": 1, "hidden_size": 4, "intermediate_size": 6, "out_hidden_size": 8, "patch_size": 2,
     "temporal_patch_size": 2, "spatial_merge_size": 2, "in_chans": 3,
     "fullatt_block_indexes": [0]})"));
  const int block = 8 + 48 + 12 + 16 + 4 + 2 * (24 + 6) + 24 + 4;
  EXPECT_EQ(count_parameters(m).towers, 24 * 4 + block + 4 + 256 + 16 + 128 + 8);
}

// Pixtral of width 4, one block: patches 3x2x2 x 4, norm 4; block: norms 8, 4x16, 3 x 4x6; the
// projector's norm 4, merger of four patches 16x4, and 4x8 + 8x8.
TEST(Towers, VisionOfMistralSmallMergesPatches) {
  const Architecture m = read_text(R"({"architectures": ["Mistral3ForConditionalGeneration"],
    "spatial_merge_size": 2, "text_config": {"hidden_size": 8, "vocab_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 3,
    "hidden_act": "silu", "intermediate_size": 20, "max_position_embeddings": 64},
    "vision_config": {"model_type": "pixtral", "hidden_size": 4, "intermediate_size": 6,
    "num_hidden_layers": 1, "patch_size": 2}})");
  EXPECT_EQ(count_parameters(m).towers,
            12 * 4 + 4 + (8 + 4 * 16 + 3 * 24) + 4 + 16 * 4 + 4 * 8 + 8 * 8);
}

}  // namespace kin_test
}  // namespace orrery
