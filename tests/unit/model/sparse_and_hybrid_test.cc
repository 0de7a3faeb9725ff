// Do tiny configs of the families with compressed, sparse and hybrid layers have the parameters
// that one counts by hand, and the layers that their lists say?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/model/architecture/parameters.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace sparse_and_hybrid_test {

using ::testing::HasSubstr;

std::int64_t mixer_size(const Architecture& m, int layer) {
  return count_parameters(m.layers.at(layer), m.hidden, m.norm).mixer;
}

std::string deepseek_v4(const std::string& more) {
  return R"({"architectures": ["DeepseekV4ForCausalLM"], "hidden_size": 16, "vocab_size": 32,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8,
    "qk_rope_head_dim": 2, "q_lora_rank": 6, "o_groups": 2, "o_lora_rank": 3, "sliding_window": 4,
    "index_n_heads": 2, "index_head_dim": 4, "index_topk": 5, "hc_mult": 4, "hidden_act": "silu",
    "moe_intermediate_size": 10, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_shared_experts": 1, "num_hash_layers": 1, "max_position_embeddings": 1024)" +
         more + "}";
}

// Attention: q_a 16x6 + 6, q_b 6x32, kv 16x8 + 8, sinks 4, o_a 32x3, o_b 6x16. CSA: kv and gate
// 16x16 each, bias 4x16, norm 8; indexer: 16x8 twice, bias 4x8, norm 4, queries 6x8, weights 16x2.
// HCA: 16x8 twice, bias 128x8, norm 8. Hyper-connections of a layer: twice 24x64 + 24 + 3, of the
// model 4x64 + 4 + 1.
TEST(DeepSeekV4, CountsWindowSparseAndHeavilyCompressedLayers) {
  const Architecture m = read_text(deepseek_v4(R"(, "compress_ratios": [0, 4, 128, 0])"));
  const int plain = 96 + 6 + 192 + 128 + 8 + 4 + 96 + 96;
  EXPECT_EQ(mixer_size(m, 0), plain);
  EXPECT_EQ(mixer_size(m, 1), plain + (2 * 256 + 64 + 8) + (2 * 128 + 32 + 4) + 6 * 8 + 32);
  EXPECT_EQ(mixer_size(m, 2), plain + 2 * 128 + 1024 + 8);
  const LayerParameters n = count_parameters(m.layers.at(2), m.hidden, m.norm);
  EXPECT_EQ(n.residual, 2 * (24 * 64 + 24 + 3));
  EXPECT_EQ(n.expert, 3 * 16 * 10);
  EXPECT_EQ(n.shared_experts, 3 * 16 * 10);
  EXPECT_EQ(n.router, 16 * 4 + 4);
  EXPECT_EQ(count_parameters(m.layers.at(0), m.hidden, m.norm).router, 16 * 4);  // hashed
  EXPECT_EQ(count_parameters(m).positions, 4 * 64 + 4 + 1);
  EXPECT_EQ(kept_state(m.layers.at(1).mixer).cached().total(), 8);
  EXPECT_EQ(kept_state(m.layers.at(1).mixer).index().total(), 4);
  EXPECT_EQ(kept_state(m.layers.at(2).mixer).index().total(), 0);
}

TEST(DeepSeekV4, NamesOfLayersAndRatiosSayTheSame) {
  const Architecture a = read_text(deepseek_v4(R"(, "compress_ratios": [128, 4, 0])"));
  const Architecture b = read_text(deepseek_v4(
      R"(, "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention",
           "sliding_attention"], "mlp_layer_types": ["hash_moe", "moe", "moe"])"));
  EXPECT_EQ(a.layers.specs(), b.layers.specs());
  EXPECT_EQ(a.layers.runs(), b.layers.runs());
  EXPECT_THAT(error_of([] { read_text(deepseek_v4(R"(, "compress_ratios": [4])")); }),
              HasSubstr("1 entries for 3 layers"));
  EXPECT_THAT(
      error_of([] { read_text(deepseek_v4(R"(, "layer_types": ["full_attention", "a", "b"])")); }),
      HasSubstr("expected compressed_sparse_attention"));
}

// KDA with 2 heads of 4, w = 8: q, k, v 12x8 each, convolutions 3x4x8, decay 12x4 + 4x8 + 8, a
// scale for each head, beta 12x2, gate 12x8, norm 4, o 8x12. MLA: q 12x6, its norm, 6 x 2x6, kv_a
// 12x5, norm 3, kv_b 3 x 2x7, o 6x12, gate 12x6. Latent experts of width 6: 3x6x5, and 2x12x6 + 6.
TEST(KimiLinear, CountsDeltaLatentAndExpertLayers) {
  const Architecture m = read_text(R"({"architectures": ["KimiK3ForConditionalGeneration"],
    "text_config": {"hidden_size": 12, "vocab_size": 32, "num_hidden_layers": 2, "hidden_act": "situ",
    "num_attention_heads": 2, "q_lora_rank": 6, "kv_lora_rank": 3, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 2, "v_head_dim": 3, "mla_use_output_gate": true, "intermediate_size": 20,
    "first_k_dense_replace": 1, "num_experts": 4, "num_experts_per_token": 2,
    "num_shared_experts": 2, "moe_intermediate_size": 5, "routed_expert_hidden_size": 6,
    "latent_moe_use_norm": true, "attn_res_block_size": 1, "max_position_embeddings": 64,
    "linear_attn_config": {"kda_layers": [1], "full_attn_layers": [2], "num_heads": 2,
      "head_dim": 4, "short_conv_kernel_size": 4, "use_full_rank_gate": true}}})");
  EXPECT_EQ(mixer_size(m, 0), 288 + 96 + (48 + 32 + 8) + 2 + 24 + 96 + 4 + 96);
  EXPECT_EQ(mixer_size(m, 1), 72 + 6 + 72 + 60 + 3 + 42 + 72 + 72);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).recurrent.total(), 2 * 4 * 4);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).convolution.total(), 3 * 24);
  const LayerParameters n = count_parameters(m.layers.at(1), m.hidden, m.norm);
  EXPECT_EQ(n.expert, 3 * 6 * 5);
  EXPECT_EQ(n.latent, 2 * 72 + 6);
  EXPECT_EQ(n.shared_experts, 3 * 12 * 10);
  EXPECT_EQ(n.residual, 4 * 12);
  EXPECT_EQ(m.layers.at(0).residual_sources, 2);
  EXPECT_EQ(m.layers.at(1).residual_sources, 3);
}

// Dense and full, then experts and blocks. Index: queries 8x8, key 8x4, norms 2x4.
TEST(MiniMaxM3, BlocksAndExpertsFollowTheirLists) {
  const Architecture m = read_text(R"({"architectures": ["MiniMaxM3ForCausalLM"], "hidden_size": 8,
    "vocab_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 4, "hidden_act": "swigluoai", "dense_intermediate_size": 24,
    "intermediate_size": 6, "moe_intermediate_size": 6, "shared_intermediate_size": 6,
    "n_shared_experts": 1, "num_local_experts": 4, "num_experts_per_tok": 2,
    "moe_layer_freq": [0, 1], "max_position_embeddings": 64, "sparse_attention_config":
      {"use_sparse_attention": true, "sparse_attention_freq": [0, 1], "sparse_block_size": 16,
       "sparse_topk_blocks": 3, "sparse_num_index_heads": 2, "sparse_index_dim": 4}})");
  const int full = 2 * 8 * 16 + 2 * 8 * 8 + 2 * 4;
  EXPECT_EQ(mixer_size(m, 0), full);
  EXPECT_EQ(mixer_size(m, 1), full + 8 * 8 + 8 * 4 + 2 * 4);
  EXPECT_EQ(count_parameters(m.layers.at(0), 8, m.norm).mlp, 3 * 8 * 24);
  EXPECT_EQ(count_parameters(m.layers.at(1), 8, m.norm).expert, 3 * 8 * 6);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).index().total(), 0);
  EXPECT_EQ(kept_state(m.layers.at(1).mixer).index().total(), 4);
}

// Window: q and o 8x16 each, k and v 8x8 each. Full: heads of 8, one KV head whose keys are its
// values: q and o 8x32, k 8x8. The last layer reads the cache of the first and has a doubled MLP.
TEST(Gemma4, FullLayersHaveHeadsOfTheirOwnAndTheLastLayersShareACache) {
  const Architecture m = read_text(R"({"architectures": ["Gemma4ForConditionalGeneration"],
    "text_config": {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "global_head_dim": 8, "num_global_key_value_heads": 1,
    "attention_k_eq_v": true, "intermediate_size": 12, "sliding_window": 16, "vocab_size": 32,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "num_kv_shared_layers": 1, "use_double_wide_mlp": true, "hidden_size_per_layer_input": 2,
    "vocab_size_per_layer_input": 30}})");
  EXPECT_EQ(mixer_size(m, 0), 2 * 128 + 2 * 64 + 2 * 4);
  EXPECT_EQ(mixer_size(m, 1), 2 * 256 + 64 + 2 * 8);
  EXPECT_EQ(mixer_size(m, 2), 2 * 128 + 4);
  EXPECT_EQ(kept_state(m.layers.at(1).mixer).cached().total(), 16);
  EXPECT_EQ(kept_state(m.layers.at(2).mixer).cached().total(), 0);
  EXPECT_EQ(count_parameters(m.layers.at(0), 8, m.norm).mlp, 3 * 8 * 12);
  EXPECT_EQ(count_parameters(m.layers.at(2), 8, m.norm).mlp, 3 * 8 * 24);
  EXPECT_EQ(count_parameters(m.layers.at(0), 8, m.norm).per_layer_input, 2 * 16 + 8);
  EXPECT_EQ(count_parameters(m).per_layer_inputs, 30 * 6 + 8 * 6 + 2);
  EXPECT_EQ(count_parameters(m).lm_head, 0);
}

TEST(Mimo, WindowsHaveHeadsOfTheirOwn) {
  const Architecture m = read_text(R"({"architectures": ["MiMoV2FlashForCausalLM"],
    "hidden_size": 8, "vocab_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 1, "head_dim": 6, "v_head_dim": 4, "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 2, "swa_head_dim": 6, "swa_v_head_dim": 4, "sliding_window": 16,
    "hybrid_layer_pattern": [0, 1], "moe_layer_freq": [0, 1], "intermediate_size": 12,
    "moe_intermediate_size": 5, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_shared_experts": null, "hidden_act": "silu", "topk_method": "noaux_tc",
    "add_swa_attention_sink_bias": true, "max_position_embeddings": 64})");
  EXPECT_EQ(mixer_size(m, 0), 8 * 24 + 8 * 6 + 8 * 4 + 16 * 8);
  EXPECT_EQ(mixer_size(m, 1), 8 * 24 + 8 * 12 + 8 * 8 + 16 * 8 + 4);
  EXPECT_EQ(kept_state(m.layers.at(0).mixer).cached().total(), 10);
  EXPECT_EQ(kept_state(m.layers.at(1).mixer).cached().total(), 20);
}

// Windows of Step have more query heads; each head's output is scaled by a gate 8 x heads.
TEST(Step, WindowsHaveMoreHeadsAndLayersAreNamedByNumber) {
  const Architecture m = read_text(R"({"architectures": ["Step3p5ForCausalLM"], "hidden_size": 8,
    "vocab_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "num_attention_groups": 1,
    "head_dim": 4, "attention_other_setting": {"num_attention_heads": 3, "num_attention_groups": 1,
    "head_dim": 4}, "sliding_window": 16, "layer_types": ["full_attention", "sliding_attention",
    "sliding_attention", "full_attention"], "use_head_wise_attn_gate": true,
    "moe_layers_enum": "1,2,3", "moe_num_experts": 4, "moe_top_k": 2, "moe_intermediate_size": 5,
    "share_expert_dim": 6, "intermediate_size": 12, "max_position_embeddings": 64})");
  EXPECT_EQ(mixer_size(m, 0), 2 * 64 + 2 * 32 + 2 * 8 + 2 * 4);
  EXPECT_EQ(mixer_size(m, 1), 2 * 96 + 2 * 32 + 3 * 8 + 2 * 4);
  EXPECT_TRUE(std::holds_alternative<DenseMlp>(m.layers.at(0).mlp));
  EXPECT_TRUE(std::holds_alternative<MoeMlp>(m.layers.at(1).mlp));
  EXPECT_EQ(count_parameters(m.layers.at(1), 8, m.norm).shared_experts, 3 * 8 * 6);
}

std::string nemotron(const std::string& layers) {
  return R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 8, "vocab_size": 32,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "mamba_num_heads": 2,
    "mamba_head_dim": 4, "ssm_state_size": 3, "n_groups": 1, "conv_kernel": 4,
    "intermediate_size": 12, "mlp_hidden_act": "relu2", "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 5, "moe_latent_size": 3,
    "moe_shared_expert_intermediate_size": 6, "max_position_embeddings": 64)" +
         layers + "}";
}

// Experts on a latent of 3: 2x3x5 each, projections 2x8x3; the shared expert on 8: 2x8x6.
TEST(NemotronH, LettersAndWordsSayTheSameAndExpertsWorkOnALatent) {
  const Architecture letters =
      read_text(nemotron(R"(, "num_hidden_layers": 4, "hybrid_override_pattern": "ME*-")"));
  const Architecture words =
      read_text(nemotron(R"(, "layers_block_type": ["mamba", "moe", "attention", "mlp"])"));
  EXPECT_EQ(letters.layers.specs(), words.layers.specs());
  EXPECT_EQ(letters.layers.runs(), words.layers.runs());
  const LayerParameters n = count_parameters(words.layers.at(1), 8, words.norm);
  EXPECT_EQ(n.expert, 2 * 3 * 5);
  EXPECT_EQ(n.latent, 2 * 8 * 3);
  EXPECT_EQ(n.shared_experts, 2 * 8 * 6);
  EXPECT_THAT(error_of([] { read_text(nemotron("")); }), HasSubstr("hybrid_override_pattern"));
  EXPECT_THAT(
      error_of([] { read_text(nemotron(R"(, "layers_block_type": ["mamba", "convolution"])")); }),
      HasSubstr("convolution"));
}

TEST(NemotronH, BlocksOfASearchHaveExpertsOfTheirOwnSize) {
  const Architecture m = read_text(nemotron(
      R"(, "layers_block_type": ["moe", "moe"], "block_configs": [{"block_type": "moe",
      "moe_intermediate_size": 7, "num_experts_per_tok": 1}, {"block_type": "moe"}])"));
  const LayerParameters own = count_parameters(m.layers.at(0), 8, m.norm);
  EXPECT_EQ(own.expert, 2 * 3 * 7);
  EXPECT_EQ(own.top_k, 1);
  const LayerParameters common = count_parameters(m.layers.at(1), 8, m.norm);
  EXPECT_EQ(common.expert, 2 * 3 * 5);
  EXPECT_EQ(common.top_k, 2);
}

// Width 2/3 of ffn_mult * 512, in whole 256: 2.625 makes 896, rounded up to 1024.
TEST(LlamaNemotron, BlocksMayLackAttention) {
  const Architecture m = read_text(R"({"architectures": ["DeciLMForCausalLM"],
    "model_type": "nemotron-nas", "hidden_size": 512, "vocab_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "hidden_act": "silu", "max_position_embeddings": 64,
    "block_configs": [
      {"attention": {"n_heads_in_group": 2, "no_op": false}, "ffn": {"ffn_mult": 5.25}},
      {"attention": {"n_heads_in_group": null, "no_op": true}, "ffn": {"ffn_mult": 2.625}}]})");
  EXPECT_EQ(mixer_size(m, 0), 2 * 512 * 512 + 2 * 512 * 256);
  EXPECT_EQ(mixer_size(m, 1), 0);
  EXPECT_EQ(count_parameters(m.layers.at(0), 512, m.norm).mlp, 3 * 512 * 1792);
  EXPECT_EQ(count_parameters(m.layers.at(1), 512, m.norm).mlp, 3 * 512 * 1024);
  EXPECT_EQ(m.layers.at(1).norms, 1);
}

// Vision of width 4, one block: patches 3x2x2x2 x 4 + 4, positions 9x4, block 4x4 + 4x12 + 12 +
// 4x4 + 4 + 4x6 + 6 + 6x4 + 4, merger of 16: 16x16 + 16 + 16x8 + 8, norm 8, one further level with
// a norm of 32.
TEST(Towers, VisionOfQwen3VlIsCountedOutsideOfTheActiveParameters) {
  const Architecture m = read_text(R"({"architectures": ["Qwen3VLForConditionalGeneration"],
    "text_config": {"hidden_size": 8, "vocab_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 12,
    "hidden_act": "silu", "max_position_embeddings": 64},
    "vision_config": {"depth": 1, "hidden_size": 4, "intermediate_size": 6, "out_hidden_size": 8,
    "patch_size": 2, "temporal_patch_size": 2, "spatial_merge_size": 2,
    "num_position_embeddings": 9, "deepstack_visual_indexes": [0]}})");
  const int block = 16 + 48 + 12 + 16 + 4 + 24 + 6 + 24 + 4;
  const int merger = 256 + 16 + 128 + 8;
  const ParameterCounts n = count_parameters(m);
  EXPECT_EQ(n.towers, 24 * 4 + 4 + 36 + block + merger + 8 + merger + 32);
  EXPECT_EQ(n.total() - n.active(), n.towers);
}

// Sound of width 4, one layer: convolutions 9x2 + 9x2 and norms 2 + 1, in 32x4; two MLPs of 8x16 +
// 8, attention 5x16 + 2, light convolution 3x16 + 3x4 + 8, three norms of 4; out 4x6 + 6 and 6x8.
TEST(Towers, SoundOfGemma4IsCounted) {
  const Architecture m = read_text(R"({"architectures": ["Gemma4ForConditionalGeneration"],
    "text_config": {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 12, "sliding_window": 16,
    "vocab_size": 32}, "audio_config": {"hidden_size": 4, "num_hidden_layers": 1,
    "num_attention_heads": 2, "conv_kernel_size": 3, "subsampling_conv_channels": [2, 1],
    "output_proj_dims": 6}})");
  const int layer = 2 * (8 * 16 + 8) + 5 * 16 + 2 + 3 * 16 + 3 * 4 + 8 + 3 * 4;
  ASSERT_EQ(m.towers.size(), 1U);
  EXPECT_EQ(m.towers[0].name, "audio");
  EXPECT_EQ(m.towers[0].parameters, 2 * 18 + 3 + 32 * 4 + layer + 30 + 48);
}

}  // namespace sparse_and_hybrid_test
}  // namespace orrery
