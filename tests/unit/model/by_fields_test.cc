// Models of classes that no reader knows: read where their fields are complete and standard,
// refused by name where they are not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/testing.h"

namespace orrery {
namespace by_fields_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A small decoder of a class that nobody knows, with more keys.
std::string unknown(const std::string& more = "", const std::string& left_out = "") {
  const std::pair<std::string, std::string> keys[] = {
      {"hidden_size", "64"},
      {"intermediate_size", "128"},
      {"num_hidden_layers", "4"},
      {"num_attention_heads", "8"},
      {"num_key_value_heads", "2"},
      {"hidden_act", "\"silu\""},
      {"vocab_size", "100"},
      {"max_position_embeddings", "512"},
      {"rms_norm_eps", "1e-6"},
      {"rope_theta", "10000.0"},
      {"tie_word_embeddings", "false"},
      {"bos_token_id", "1"},
      {"initializer_range", "0.02"},
      {"attention_dropout", "0.0"},
      {"use_cache", "true"},
      {"transformers_version", "\"5.0\""},
      {"torch_dtype", "\"bfloat16\""},
  };
  std::string out = R"({"architectures": ["NobodyForCausalLM"], "model_type": "nobody")";
  for (const auto& [name, text] : keys) {
    if (name != left_out) out += ",\n\"" + name + "\": " + text;
  }
  return out + (more.empty() ? "" : ",\n" + more) + "}";
}

std::string refusal(const std::string& config) {
  return error_of([&] { read_text(config); });
}

// The same model of a known class.
std::string as_llama(std::string config) {
  config.replace(config.find("NobodyForCausalLM"), 17, "LlamaForCausalLM");
  return config;
}

TEST(ByFields, ReadsAPlainDecoderAsLlamaIs) {
  const Architecture m = read_text(unknown());
  const Architecture llama = read_text(as_llama(unknown()));
  EXPECT_EQ(m.family, "nobody");
  EXPECT_EQ(m.layers.specs(), llama.layers.specs());
  EXPECT_EQ(count_parameters(m).total(), count_parameters(llama).total());
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_THAT(m.notes[0],
              AllOf(HasSubstr("architecture 'NobodyForCausalLM' has no reader"),
                    HasSubstr("assumed"), HasSubstr("gated MLPs"), HasSubstr("RMS norms"),
                    HasSubstr("no norms of queries and keys"), Not(HasSubstr("LM head"))));
  EXPECT_TRUE(llama.notes.empty());
  EXPECT_THAT(read_text(unknown("", "tie_word_embeddings")).notes[0], HasSubstr("LM head"));
}

TEST(ByFields, ReadsBiasesNormsAndWindows) {
  const Architecture m = read_text(unknown(R"("qkv_bias": true, "use_qk_norm": true,
    "head_dim": 16, "sliding_window": 32,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                    "full_attention"])"));
  const auto& first = std::get<SoftmaxAttention>(m.layers.at(0).mixer);
  EXPECT_TRUE(first.q_bias);
  EXPECT_FALSE(first.o_bias);
  EXPECT_EQ(first.head_dim, 16);
  EXPECT_EQ(first.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(first.window, 32);
  EXPECT_EQ(std::get<SoftmaxAttention>(m.layers.at(1).mixer).window, 0);
}

TEST(ByFields, ReadsExpertsOfEverySpelling) {
  for (const char* experts : {
           R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)",
           R"("num_local_experts": 8, "experts_per_token": 2, "expert_intermediate_size": 32)",
           R"("moe_num_experts": 8, "moe_topk": 2, "moe_ffn_hidden_size": 32)",
       }) {
    const Architecture m = read_text(unknown(experts));
    const auto* moe = std::get_if<MoeMlp>(&m.layers.at(0).mlp);
    ASSERT_NE(moe, nullptr) << experts;
    EXPECT_EQ(moe->experts, 8) << experts;
    EXPECT_EQ(moe->top_k, 2) << experts;
    EXPECT_EQ(moe->intermediate, 32) << experts;
  }
  const std::string experts =
      R"("n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
         "n_shared_experts": 2, "topk_method": "noaux_tc", )";
  const Architecture m = read_text(unknown(experts + R"("first_k_dense_replace": 1)"));
  EXPECT_TRUE(std::holds_alternative<DenseMlp>(m.layers.at(0).mlp));
  const auto& moe = std::get<MoeMlp>(m.layers.at(1).mlp);
  EXPECT_EQ(moe.shared_intermediate, 64);
  EXPECT_TRUE(moe.router_bias);
  const Architecture list = read_text(unknown(experts + R"("moe_layer_freq": [0, 1, 1, 0])"));
  EXPECT_TRUE(std::holds_alternative<MoeMlp>(list.layers.at(1).mlp));
  EXPECT_TRUE(std::holds_alternative<DenseMlp>(list.layers.at(3).mlp));
  EXPECT_THAT(refusal(unknown(experts + R"("moe_layer_freq": [0, 1])")),
              HasSubstr("2 entries for 4 layers"));
}

TEST(ByFields, LatentAttentionIsThatOfDeepSeek) {
  const Architecture m = read_text(unknown(R"("q_lora_rank": 32, "kv_lora_rank": 16,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8)"));
  EXPECT_EQ(std::get<LatentAttention>(m.layers.at(0).mixer).kv_lora_rank, 16);
  EXPECT_THAT(m.notes[0], HasSubstr("DeepSeek-V3"));
  EXPECT_THAT(refusal(unknown(R"("kv_lora_rank": 16)")), HasSubstr("'kv_lora_rank'"));
}

// A known model_type under an unknown class is read by its reader.
TEST(ByFields, AKnownModelTypeHasItsReader) {
  std::string config = unknown();
  config.replace(config.find("\"nobody\""), 8, "\"qwen3\"");
  const Architecture m = read_text(config);
  EXPECT_EQ(m.family, "qwen3");
  EXPECT_EQ(std::get<SoftmaxAttention>(m.layers.at(0).mixer).qk_norm, QkNorm::kPerHead);
  EXPECT_THAT(m.notes[0], HasSubstr("read as model type qwen3"));
  config.insert(1, R"("num_memory_layers": 3, )");
  EXPECT_THAT(refusal(config), HasSubstr("'num_memory_layers'"));
}

TEST(ByFields, FieldsThatSayTooLittleAreNamed) {
  EXPECT_THAT(refusal(unknown("", "intermediate_size")),
              AllOf(HasSubstr("config.json:1: architectures[0]: architecture 'NobodyForCausalLM' "
                              "is not supported"),
                    HasSubstr("'intermediate_size' is missing")));
  EXPECT_THAT(refusal(R"({"architectures": ["NobodyForCausalLM"], "hidden_size": 64})"),
              AllOf(HasSubstr("'num_hidden_layers', 'num_attention_heads', 'vocab_size'"),
                    HasSubstr("are missing"), Not(HasSubstr("'hidden_size'"))));
  EXPECT_THAT(refusal(R"({"model_type": "nobody"})"),
              AllOf(HasSubstr("model type 'nobody' is not supported"), HasSubstr("'hidden_size'")));
  EXPECT_THAT(refusal(unknown(R"("num_experts": 8)")), HasSubstr("'num_experts_per_tok'"));
  EXPECT_THAT(refusal(unknown(R"("is_encoder_decoder": true)")), HasSubstr("only decoders"));
}

TEST(ByFields, FieldsThatChangeTheWorkAreNamed) {
  for (const char* field :
       {"\"ssm_state_size\": 128", "\"conv_kernel\": 4", "\"index_topk\": 2048",
        "\"num_memory_experts\": 4", "\"linear_num_value_heads\": 32",
        "\"window_pattern\": \"LLG\"", "\"kv_lora_rank\": 512", "\"attn_type_list\": [0, 1, 0, 1]",
        "\"residual_streams\": 4", "\"layer_skip\": true", "\"attention_type\": \"lightning\"",
        "\"mamba_expand\": 2", "\"num_kv_shared_layers\": 2", "\"compress_ratios\": [4, 4]",
        "\"hc_streams\": 4"}) {
    const std::string name(field, std::string(field).find(':'));
    std::string quoted = name;
    quoted.front() = quoted.back() = '\'';
    EXPECT_THAT(refusal(unknown(field)), AllOf(HasSubstr(quoted), HasSubstr("that are not known")))
        << field;
  }
  // The same fields switched off say nothing.
  EXPECT_NO_THROW(read_text(unknown(R"("ssm_state_size": null, "index_topk": 0, "layer_skip": false,
    "attn_type_list": [], "attention_type": "full_attention")")));
}

// A field that says nothing of layers is named in a note.
TEST(ByFields, OtherFieldsAreNoted) {
  const Architecture m = read_text(unknown(R"("moon_phase": 3, "colour": "blue")"));
  ASSERT_EQ(m.notes.size(), 2u);
  EXPECT_EQ(m.notes[1], "fields that were not read: 'moon_phase', 'colour'");
}

// The wrapper's fields are of images and of tokens; those of the text model count.
TEST(ByFields, ChecksTheTextModelOfAWrapper) {
  const std::string wrapper = R"({"architectures": ["SomeVlm"], "vision_feature_layer": -2,
    "image_token_index": 5, "text_config": )";
  EXPECT_EQ(read_text(wrapper + unknown() + "}").hidden, 64);
  EXPECT_THAT(refusal(wrapper + unknown(R"("conv_kernel": 4)") + "}"), HasSubstr("'conv_kernel'"));
}

}  // namespace by_fields_test
}  // namespace orrery
