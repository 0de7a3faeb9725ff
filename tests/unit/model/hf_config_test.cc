// Is a config that cannot be read refused with the place and the reason? Are the variants of
// families read?
#include "orrery/model/families/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/testing.h"

namespace orrery {
namespace hf_config_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A small Llama, a key a line; `key` gets `value` in place, or is left out when value is empty.
std::string llama(const std::string& key = "", const std::string& value = "") {
  const std::pair<std::string, std::string> keys[] = {
      {"architectures", R"(["LlamaForCausalLM"])"},
      {"model_type", "\"llama\""},
      {"hidden_size", "64"},
      {"intermediate_size", "128"},
      {"num_hidden_layers", "2"},
      {"num_attention_heads", "8"},
      {"num_key_value_heads", "2"},
      {"hidden_act", "\"silu\""},
      {"vocab_size", "100"},
      {"max_position_embeddings", "512"},
      {"torch_dtype", "\"float16\""},
  };
  std::string out = "{\"attention_dropout\": 0.0";
  bool known = false;
  for (const auto& [name, text] : keys) {
    const bool replaced = name == key;
    known = known || replaced;
    if (replaced && value.empty()) continue;
    out += ",\n\"" + name + "\": " + (replaced ? value : text);
  }
  if (!known && !key.empty()) out += ",\n\"" + key + "\": " + value;
  return out + "\n}";
}

std::string llama_error(const std::string& key, const std::string& value) {
  return error_of([&] { read_text(llama(key, value)); });
}

const SoftmaxAttention& attention(const Architecture& m) {
  return std::get<SoftmaxAttention>(m.layers.at(0).mixer);
}

TEST(HfConfig, ReadsAPlainLlamaAndToleratesOtherKeys) {
  const Architecture m = read_text(llama());
  EXPECT_EQ(m.id, "test");
  EXPECT_EQ(m.family, "llama");
  EXPECT_EQ(m.hidden, 64);
  EXPECT_EQ(m.layers.size(), 2);
  EXPECT_EQ(attention(m).head_dim, 8);
  EXPECT_EQ(attention(m).kv_heads, 2);
  EXPECT_EQ(m.dtype, Dtype::kFp16);
  EXPECT_FALSE(m.tied_embeddings);
  EXPECT_EQ(m.quantization, CheckpointQuantization{});
}

TEST(HfConfig, AbsentOrNullKvHeadsMeanOneAHead) {
  EXPECT_EQ(attention(read_text(llama("num_key_value_heads", ""))).kv_heads, 8);
  EXPECT_EQ(attention(read_text(llama("num_key_value_heads", "null"))).kv_heads, 8);
}

TEST(HfConfig, ModelTypeDecidesWhereArchitecturesIsAbsent) {
  EXPECT_EQ(read_text(llama("architectures", "")).family, "llama");
}

TEST(HfConfig, HeadDimNeedNotDivideHidden) {
  EXPECT_EQ(attention(read_text(llama("head_dim", "24"))).head_dim, 24);
}

TEST(HfConfigErrors, NameFileLineAndKey) {
  EXPECT_THAT(llama_error("num_attention_heads", "-4"),
              AllOf(StartsWith("config.json:7: num_attention_heads: "), HasSubstr("1 to 4096"),
                    HasSubstr("-4")));
}

TEST(HfConfigErrors, UnknownArchitectureNamesTheNearest) {
  EXPECT_THAT(
      error_of([] { read_text("{\"bos\": 1,\n\"architectures\": [\"LamaForCausalLM\"]}"); }),
      AllOf(StartsWith("config.json:2: architectures[0]: "), HasSubstr("'LamaForCausalLM'"),
            HasSubstr("LlamaForCausalLM'?")));
  EXPECT_THAT(error_of([] { read_text(R"({"model_type": "mixtrall"})"); }),
              HasSubstr("did you mean 'mixtral'?"));
  EXPECT_THAT(error_of([] { read_text(R"({"architectures": ["WhisperForAudio"]})"); }),
              HasSubstr("not supported"));
}

TEST(HfConfigErrors, NotAModelConfig) {
  EXPECT_THAT(error_of([] { read_text("[1, 2]"); }), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error_of([] { read_text("{}"); }), HasSubstr("neither 'architectures' nor"));
  EXPECT_THAT(error_of([] { read_text(R"({"architectures": []})"); }),
              HasSubstr("expected a list"));
  EXPECT_THAT(error_of([] { read_text(R"({"architectures": "x"})"); }),
              HasSubstr("expected a list"));
  EXPECT_THAT(error_of([] { read_text(R"({"architectures": [3)"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(
      error_of([] { read_text(R"({"architectures": ["LlamaForCausalLM"], "text_config": 3})"); }),
      HasSubstr("text_config: expected a map"));
}

TEST(HfConfigErrors, EveryNeededKeyOfLlamaIsNamedWhenItIsMissing) {
  for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "vocab_size", "max_position_embeddings"}) {
    EXPECT_THAT(llama_error(key, ""), AllOf(HasSubstr(key), HasSubstr("missing"))) << key;
  }
  EXPECT_THAT(llama_error("hidden_act", ""), HasSubstr("hidden_act"));
}

TEST(HfConfigErrors, SizesOutOfRange) {
  for (const char* value :
       {"0", "-1", "1e30", "1.5", "\"64\"", "true", "[64]", "9999999999999999999"}) {
    EXPECT_THAT(llama_error("hidden_size", value), HasSubstr("hidden_size: expected")) << value;
  }
  EXPECT_THAT(llama_error("num_hidden_layers", "1000000"), HasSubstr("1 to 1024"));
}

TEST(HfConfigErrors, HeadsThatDoNotDivideHidden) {
  EXPECT_THAT(llama_error("num_attention_heads", "6"),
              AllOf(HasSubstr("num_attention_heads"), HasSubstr("6 heads do not divide"),
                    HasSubstr("64"), HasSubstr("head_dim")));
}

TEST(HfConfigErrors, KvHeadsThatDoNotDivideHeads) {
  EXPECT_THAT(llama_error("num_key_value_heads", "3"),
              AllOf(HasSubstr("num_key_value_heads"), HasSubstr("3 KV heads do not divide the 8")));
  EXPECT_THAT(llama_error("num_key_value_heads", "16"), HasSubstr("do not divide"));
}

TEST(HfConfigErrors, UnknownActivationAndDtype) {
  EXPECT_THAT(llama_error("hidden_act", "\"swoosh\""), HasSubstr("'swoosh'"));
  EXPECT_THAT(llama_error("torch_dtype", "\"int7\""), HasSubstr("bfloat16"));
  EXPECT_THAT(llama_error("torch_dtype", "\"int8\""), HasSubstr("bfloat16"));
}

TEST(HfConfigErrors, MoreExpertsPerTokenThanExperts) {
  EXPECT_THAT(error_of([] {
                read_text(R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
      "hidden_act": "silu",
      "vocab_size": 100, "max_position_embeddings": 512, "num_local_experts": 4,
      "num_experts_per_tok": 5})");
              }),
              AllOf(HasSubstr("num_experts_per_tok"), HasSubstr("5 experts per token"),
                    HasSubstr("only 4")));
}

TEST(HfConfigErrors, LayerListsOfAnotherLength) {
  const auto gemma = [](const std::string& types) {
    return error_of([&] {
      read_text(
          R"({"architectures": ["Gemma3ForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 3, "sliding_window": 16, "layer_types": )" +
          types + "}");
    });
  };
  EXPECT_THAT(gemma(R"(["sliding_attention", "full_attention"])"),
              AllOf(HasSubstr("layer_types"), HasSubstr("2 entries for 3 layers")));
  EXPECT_THAT(gemma(R"(["sliding_attention", "full_attention", "round_attention"])"),
              HasSubstr("'round_attention'"));
  EXPECT_EQ(gemma(R"(["full_attention", "full_attention", "sliding_attention"])"), "no InputError");
  EXPECT_THAT(error_of([] {
                read_text(R"({"architectures": ["DeciLMForCausalLM"], "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8,
      "hidden_act": "silu",
      "vocab_size": 100, "max_position_embeddings": 512,
      "num_key_value_heads_per_layer": [4, 2]})");
              }),
              HasSubstr("2 entries for 3 layers"));
}

TEST(HfConfigErrors, HybridPattern) {
  const auto nemotron = [](const std::string& pattern) {
    return error_of([&] {
      read_text(R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8,
        "mlp_hidden_act": "relu2", "mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8,
        "n_groups": 2, "conv_kernel": 4, "vocab_size": 100, "max_position_embeddings": 512,
        "hybrid_override_pattern": ")" +
                pattern + "\"}");
    });
  };
  EXPECT_EQ(nemotron("M-*"), "no InputError");
  EXPECT_THAT(nemotron("M-"), HasSubstr("2 entries for 3 layers"));
  EXPECT_THAT(nemotron("M-X"), HasSubstr("'X'"));
}

TEST(HfConfigErrors, ShapesThatAreNotModelled) {
  EXPECT_THAT(
      error_of([] {
        read_text(R"({"architectures": ["OPTForCausalLM"], "hidden_size": 64, "ffn_dim": 128,
      "num_hidden_layers": 2, "num_attention_heads": 8, "word_embed_proj_dim": 32,
      "vocab_size": 100,
      "max_position_embeddings": 512})");
      }),
      HasSubstr("word_embed_proj_dim"));
  EXPECT_THAT(error_of([] {
                read_text(R"({"architectures": ["MiniMaxM2ForCausalLM"], "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
      "hidden_act": "silu",
      "vocab_size": 100, "max_position_embeddings": 512, "num_local_experts": 4,
      "num_experts_per_tok": 2, "attn_type_list": [1, 0]})");
              }),
              HasSubstr("lightning"));
}

TEST(HfConfig, TextConfigIsReadFirstAndTheDocumentFillsIn) {
  const Architecture m = read_text(R"({"architectures": ["Mistral3ForConditionalGeneration"],
    "hidden_size": 1, "torch_dtype": "float16", "text_config": {"hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
      "hidden_act": "silu",
    "vocab_size": 100, "max_position_embeddings": 512, "sliding_window": 32}})");
  EXPECT_EQ(m.hidden, 64);
  EXPECT_EQ(m.dtype, Dtype::kFp16);
  EXPECT_EQ(attention(m).window, 32);
}

TEST(HfConfig, FirstFalconConfigs) {  // the spelling before transformers took the model in
  const Architecture m = read_text(R"({"architectures": ["RWForCausalLM"], "hidden_size": 64,
    "n_layer": 2, "n_head": 8, "n_head_kv": 2, "vocab_size": 100})");
  EXPECT_EQ(attention(m).kv_heads, 2);
  EXPECT_EQ(m.layers.at(0).norms, 2);
  EXPECT_EQ(std::get<DenseMlp>(m.layers.at(0).mlp).intermediate, 256);
  EXPECT_EQ(m.max_context, 2048);
}

TEST(HfConfig, QwenWindowFromMaxWindowLayersOn) {
  const Architecture m = read_text(R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8,
      "hidden_act": "silu",
    "vocab_size": 100, "max_position_embeddings": 512, "use_sliding_window": true,
    "sliding_window": 32, "max_window_layers": 2})");
  EXPECT_EQ(attention(m).window, 0);
  EXPECT_EQ(std::get<SoftmaxAttention>(m.layers.at(2).mixer).window, 32);
  EXPECT_TRUE(attention(m).q_bias);
  EXPECT_FALSE(attention(m).o_bias);
}

TEST(HfConfig, BertHeadsByClass) {
  const auto bert = [](const std::string& name) {
    return read_text(R"({"architectures": [")" + name + R"("], "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
      "hidden_act": "gelu",
      "vocab_size": 100, "max_position_embeddings": 512})");
  };
  EXPECT_FALSE(bert("BertModel").lm_head);
  EXPECT_TRUE(bert("BertModel").pooler);
  EXPECT_FALSE(bert("BertForMaskedLM").pooler);
  EXPECT_TRUE(bert("BertForMaskedLM").lm_head_transform);
  EXPECT_EQ(bert("BertModel").kind, Kind::kEncoder);
}

CheckpointQuantization quantization(const std::string& map) {
  return read_text(llama("quantization_config", map)).quantization;
}

TEST(HfQuantization, FormatsOfTheUsualTools) {
  CheckpointQuantization q =
      quantization(R"({"quant_method": "gptq", "bits": 4, "group_size": 128})");
  EXPECT_EQ(q.format, WeightFormat::kInt4);
  EXPECT_EQ(q.group, 128);
  EXPECT_TRUE(q.weights_only);
  EXPECT_EQ(quantization(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})").group, 0);
  EXPECT_EQ(quantization(R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64})").group, 64);
  q = quantization(R"({"quant_method": "fp8", "weight_block_size": [128, 64],
                       "modules_to_not_convert": ["lm_head"]})");
  EXPECT_EQ(q.format, WeightFormat::kFp8);
  EXPECT_EQ(q.block_rows, 128);
  EXPECT_EQ(q.block_columns, 64);
  EXPECT_FALSE(q.weights_only);
  EXPECT_EQ(q.skipped, std::vector<std::string>{"lm_head"});
  q = quantization(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
    {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8}}}})");
  EXPECT_EQ(q.format, WeightFormat::kInt8);
  EXPECT_FALSE(q.weights_only);
  EXPECT_EQ(quantization(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})").format,
            WeightFormat::kNvfp4);
}

TEST(HfQuantization, Errors) {
  const auto error = [](const std::string& map) { return llama_error("quantization_config", map); };
  EXPECT_THAT(
      error(R"({"quant_method": "gpqt"})"),
      AllOf(HasSubstr("quantization_config.quant_method"), HasSubstr("did you mean 'gptq'?")));
  EXPECT_THAT(error("{}"), HasSubstr("'quant_method' is missing"));
  EXPECT_THAT(error("3"), HasSubstr("quantization_config"));
  EXPECT_THAT(error(R"({"quant_method": "gptq", "bits": 3, "group_size": 128})"),
              HasSubstr("4 or 8"));
  EXPECT_THAT(error(R"({"quant_method": "gptq", "bits": 4, "group_size": 0})"), HasSubstr("group"));
  EXPECT_THAT(error(R"({"quant_method": "fp8", "weight_block_size": [128]})"),
              HasSubstr("columns"));
}

}  // namespace hf_config_test
}  // namespace orrery
