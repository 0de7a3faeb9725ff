// The formats of the parts of a checkpoint, from every spelling, and the bytes that they take.
// Sizes are counted by hand from the dimensions of two tiny models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/testing.h"

namespace orrery {
namespace formats_test {

using testing::AllOf;
using testing::HasSubstr;

// Two layers: attention of 4 * 64 * 64 elements each, MLP of 3 * 64 * 128; tables of 100 * 64.
constexpr double kMixer = 4 * 64 * 64, kMlp = 3 * 64 * 128, kTable = 100 * 64;
constexpr double kNorms = 5 * 64;

std::string dense(const std::string& quantization, const std::string& more = "") {
  return R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "max_position_embeddings": 64)" +
         more + R"(, "quantization_config": )" + quantization + "}";
}

// One layer with experts: 8 of 3 * 64 * 32 elements, a router of 8 * 64; head_dim 16.
std::string sparse(const std::string& quantization) {
  return R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 128,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "vocab_size": 100,
    "hidden_act": "silu", "max_position_embeddings": 64, "quantization_config": )" +
         quantization + "}";
}

double bytes(const std::string& config) { return checkpoint_bytes(read_text(config)).value(); }

// The formats of a part, the one of most bytes first.
std::vector<WeightFormat> formats(const Architecture& m, WeightPart part) {
  std::vector<WeightFormat> out;
  for (const StoredPart& p : m.quantization.parts) {
    if (p.part == part) out.push_back(p.format.format);
  }
  return out;
}

using Formats = std::vector<WeightFormat>;
const Formats kPlain = {WeightFormat::kPlain}, kFp8 = {WeightFormat::kFp8},
              kNvfp4 = {WeightFormat::kNvfp4}, kMxfp4 = {WeightFormat::kMxfp4};

TEST(CheckpointBytes, PlainModels) {
  EXPECT_EQ(bytes(dense("null")), 2 * (2 * (kMixer + kMlp) + 2 * kTable + kNorms));
}

TEST(CheckpointBytes, Fp8WithScalesOfEverySize) {
  const double plain = 2 * (2 * kTable + kNorms), weights = 2 * (kMixer + kMlp);
  // 7 matrices a layer: attention has one block each of 128 x 128, gate, up and down one each.
  EXPECT_EQ(bytes(dense(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})")),
            plain + weights + 2 * 7 * 4);
  EXPECT_EQ(bytes(dense(R"({"quant_method": "fp8", "weight_block_size": [64, 64]})")),
            plain + weights + 2 * (4 + 3 * 2) * 4);
  // A scale of the weights, and of the inputs where it is static.
  EXPECT_EQ(bytes(dense(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})")),
            plain + weights + 14 * 4);
  EXPECT_EQ(bytes(dense(R"({"quant_method": "fp8", "activation_scheme": "static"})")),
            plain + weights + 14 * 8);
  // One for each output: 4 * 64 in attention, 128 + 128 + 64 in the MLP.
  EXPECT_EQ(bytes(dense(R"({"quant_method": "fbgemm_fp8"})")),
            plain + weights + 2 * (4 * 64 + 320) * 4);
}

TEST(CheckpointBytes, GroupsOfIntegers) {
  const double plain = 2 * (2 * kTable + kNorms), weights = 2 * (kMixer + kMlp);
  const double groups = weights / 32;
  // AWQ: 16-bit scales, 4-bit zeros. GPTQ has four bytes for each input besides: 6 matrices of 64
  // inputs and one of 128 a layer.
  EXPECT_EQ(bytes(dense(R"({"quant_method": "awq", "bits": 4, "group_size": 32})")),
            plain + weights / 2 + groups * 2.5);
  EXPECT_EQ(
      bytes(dense(R"({"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": false})")),
      plain + weights / 2 + groups * 2);
  EXPECT_EQ(bytes(dense(R"({"quant_method": "gptq", "bits": 4, "group_size": 32})")),
            plain + weights / 2 + groups * 2.5 + 2 * (6 * 64 + 128) * 4);
  EXPECT_EQ(bytes(dense(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
      "targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}})")),
            plain + weights / 2 + groups * 2 + 14 * 16);
  EXPECT_EQ(bytes(dense(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})")),
            plain + weights / 2 + weights / 64 * 4);
}

TEST(CheckpointBytes, FourBitFloats) {
  const double plain = 2 * (2 * kTable + kNorms), weights = 2 * (kMixer + kMlp);
  // nvfp4: 8 bits for 16 and two fp32 a matrix. mxfp4: 8 bits for 32.
  EXPECT_EQ(bytes(dense(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})")),
            plain + weights * (0.5 + 1.0 / 16) + 14 * 8);
  const auto packed = [](int group) {
    return dense(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
      "targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": )" +
                 std::to_string(group) + "}}}}");
  };
  EXPECT_EQ(bytes(packed(32)), plain + weights * (0.5 + 1.0 / 32));
  EXPECT_EQ(read_text(packed(32)).quantization.format, WeightFormat::kMxfp4);
  EXPECT_EQ(bytes(packed(16)), plain + weights * (0.5 + 1.0 / 16) + 14 * 8);
  EXPECT_EQ(read_text(packed(16)).quantization.format, WeightFormat::kNvfp4);
}

TEST(CheckpointFormats, SkippedModulesOfEverySpelling) {
  // The second layer is left out as a whole, attention of the first by another pattern.
  for (const char* list : {
           R"("ignore": ["model.layers.1.*", "re:.*self_attn.*"])",
           R"("exclude_modules": ["model.layers.1*", "model.layers.0.self_attn*"])",
           R"("exclude_modules": ["language_model.model.layers.1.mlp", "*.self_attn.*",
              "model.language_model.layers.1.self_attn.q_proj"])",
       }) {
    const Architecture m = read_text(
        dense(std::string(R"({"quant_method": "modelopt", "quant_algo": "FP8", )") + list + "}"));
    EXPECT_EQ(formats(m, WeightPart::kMixers), kPlain) << list;
    EXPECT_EQ(formats(m, WeightPart::kDenseMlps),
              (Formats{WeightFormat::kPlain, WeightFormat::kFp8}))
        << list;
    EXPECT_EQ(m.quantization.parts.back().layers, 1) << list;
  }
  const Architecture m = read_text(dense(
      R"({"quant_method": "fp8", "modules_to_not_convert": ["o_proj", "model.layers.1.mlp"]})"));
  // 3 of 4 projections in fp8 have 1.5 times the bytes of the fourth in bf16.
  EXPECT_EQ(formats(m, WeightPart::kMixers), (Formats{WeightFormat::kFp8, WeightFormat::kPlain}));
  EXPECT_EQ(m.quantization.skipped.size(), 2u);
}

TEST(CheckpointFormats, MixedPrecisionNamesEveryModule) {
  const Architecture m = read_text(dense(R"({"quant_algo": "MIXED_PRECISION",
    "kv_cache_quant_algo": "FP8", "quantized_layers": {
      "model.layers.0.mlp.gate_proj": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
      "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
      "lm_head": {"quant_algo": "FP8"}}})"));
  EXPECT_EQ(formats(m, WeightPart::kMixers), (Formats{WeightFormat::kPlain, WeightFormat::kFp8}));
  EXPECT_EQ(formats(m, WeightPart::kLmHead), kFp8);
  EXPECT_EQ(formats(m, WeightPart::kEmbedding), kPlain);
  EXPECT_EQ(m.quantization.kv_cache, KvFormat::kFp8);
  EXPECT_TRUE(m.notes.empty());
  const Architecture narrow =
      read_text(dense(R"({"quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"})"));
  ASSERT_EQ(narrow.notes.size(), 1u);
  EXPECT_THAT(narrow.notes[0], HasSubstr("KV cache in nvfp4"));
  const StoredPart& gate = m.quantization.parts.back();
  EXPECT_EQ(gate.format.format, WeightFormat::kNvfp4);
  EXPECT_TRUE(gate.format.weights_only);
  EXPECT_EQ(gate.elements, 64 * 128);
  EXPECT_EQ(gate.bytes.value(), 64 * 128 * (0.5 + 1.0 / 16) + 8);
}

// A group of compressed-tensors for modules that its targets name, and one for the others.
TEST(CheckpointFormats, GroupsWithTargets) {
  const Architecture m = read_text(sparse(R"({"quant_method": "compressed-tensors",
    "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "config_groups": {
      "group_0": {"targets": ["Linear"], "input_activations": {"num_bits": 8},
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
      "group_1": {"targets": ["re:.*experts.*"],
        "weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
    "ignore": ["lm_head", "re:.*mlp.gate$"]})"));
  EXPECT_EQ(formats(m, WeightPart::kMixers), kFp8);
  EXPECT_TRUE(format_of(m.quantization, WeightPart::kMixers).scale_per_row);
  EXPECT_FALSE(format_of(m.quantization, WeightPart::kMixers).weights_only);
  EXPECT_EQ(formats(m, WeightPart::kRoutedExperts), kNvfp4);
  EXPECT_TRUE(format_of(m.quantization, WeightPart::kRoutedExperts).weights_only);
  EXPECT_EQ(formats(m, WeightPart::kRouters), kPlain);
  EXPECT_EQ(m.quantization.format, WeightFormat::kNvfp4);  // of most weights
  EXPECT_EQ(m.quantization.kv_cache, KvFormat::kFp8);
}

// quant_method mxfp4 is of the routed experts, whatever the list of skipped modules says.
TEST(CheckpointFormats, ExpertsAlone) {
  const Architecture m = read_text(sparse(R"({"quant_method": "mxfp4"})"));
  EXPECT_EQ(formats(m, WeightPart::kRoutedExperts), kMxfp4);
  EXPECT_EQ(formats(m, WeightPart::kMixers), kPlain);
  std::string config = sparse(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
  config.insert(1, R"("expert_dtype": "fp4", )");
  const Architecture v4 = read_text(config);
  EXPECT_EQ(formats(v4, WeightPart::kRoutedExperts), kMxfp4);
  EXPECT_FALSE(format_of(v4.quantization, WeightPart::kRoutedExperts).weights_only);
  EXPECT_EQ(formats(v4, WeightPart::kMixers), kFp8);
}

// The experts of an fp8 checkpoint were quantised again. `ignore` is of the second quantisation.
TEST(CheckpointFormats, QuantisedTwice) {
  const Architecture m = read_text(sparse(R"({"quant_method": "fp8",
    "weight_block_size": [128, 128], "quant_algo": "MIXED_PRECISION", "ignore": ["*.self_attn.*"],
    "quantized_layers": {"layers.0.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16},
      "layers.2.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16}}})"));
  EXPECT_EQ(formats(m, WeightPart::kMixers), kFp8);
  EXPECT_EQ(formats(m, WeightPart::kRoutedExperts),
            (Formats{WeightFormat::kNvfp4, WeightFormat::kFp8}));
}

// Every part stands in the list, and what is left are norms: the same total as the count.
TEST(CheckpointFormats, PartsAndNormsAreTheModel) {
  for (const char* name : {"deepseek-v3", "kimi-k2.5", "gpt-oss-20b", "glm-5-fp8",
                           "llama-3.1-70b-awq", "deepseek-v4-flash"}) {
    const Architecture m = load_model(name);
    std::int64_t elements = 0;
    for (const StoredPart& p : m.quantization.parts) elements += p.elements;
    const ParameterCounts n = count_parameters(m);
    const std::int64_t all = n.total() + n.mtp - n.towers;
    EXPECT_LE(elements, all) << name;
    EXPECT_GT(static_cast<double>(elements), 0.998 * static_cast<double>(all)) << name;
  }
}

TEST(CheckpointFormats, QuarkAndAutoRound) {
  Architecture m = read_text(dense(R"({"quant_method": "quark", "exclude": ["lm_head"],
    "global_quant_config": {"input_tensors": {"dtype": "fp4"},
      "weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
    "layer_quant_config": {"*.self_attn.*": {"input_tensors": null,
      "weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor", "group_size": null}}}})"));
  EXPECT_EQ(formats(m, WeightPart::kDenseMlps), kMxfp4);
  EXPECT_EQ(formats(m, WeightPart::kMixers), kFp8);
  m = read_text(dense(R"({"quant_method": "auto-round", "bits": 4, "group_size": 64,
    "extra_config": {"model.layers.0.self_attn.q_proj": {"bits": 16}}})"));
  EXPECT_EQ(formats(m, WeightPart::kDenseMlps), (Formats{WeightFormat::kInt4}));
  EXPECT_EQ(formats(m, WeightPart::kMixers), (Formats{WeightFormat::kInt4, WeightFormat::kPlain}));
}

TEST(CheckpointFormats, ErrorsNameTheKey) {
  const auto error = [](const std::string& map) {
    return error_of([&] { read_text(dense(map)); });
  };
  EXPECT_THAT(error(R"({"quant_method": "modelopt", "quant_algo": "NVFP5"})"),
              AllOf(HasSubstr("quant_algo"), HasSubstr("did you mean"), HasSubstr("NVFP4")));
  EXPECT_THAT(error(R"({"quant_algo": "MIXED_PRECISION"})"), HasSubstr("quantized_layers"));
  EXPECT_THAT(error(R"({"quant_algo": "FP8", "exclude_modules": "lm_head"})"),
              HasSubstr("exclude_modules: expected a list"));
  EXPECT_THAT(error(R"({"quant_algo": "FP8", "exclude_modules": ["re:(a"]})"),
              HasSubstr("exclude_modules[0]: regular expression"));
  EXPECT_THAT(error(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "FP5"})"),
              HasSubstr("kv_cache_quant_algo"));
  EXPECT_THAT(error(R"({"quant_method": "bitsandbytes"})"), HasSubstr("load_in_4bit"));
  EXPECT_THAT(error(R"({})"), HasSubstr("'quant_method' is missing"));
  EXPECT_THAT(error("[]"), HasSubstr("expected a map"));
  std::string many = R"({"quant_algo": "FP8", "exclude_modules": ["a)";
  for (int i = 0; i < 1000; ++i) many += "\", \"a" + std::to_string(i);
  EXPECT_THAT(error(many + "\"]}"), HasSubstr("1001 patterns that name no layer; at most 1000"));
}

// ---- hf_quant_config.json beside the config -----------------------------------------------------

constexpr const char* kModelOpt =
    R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
        "exclude_modules": ["lm_head"]}})";

TEST(QuantizationBeside, IsReadUnderBothNames) {
  const Folder folder;
  folder.write("a/hf_quant_config.json", kModelOpt);
  folder.write("a/config.json", dense("null"));
  folder.write("b/tiny_hf_quant_config.json", kModelOpt);
  const std::string named = folder.write("b/tiny_config.json", dense("null")).string();
  const std::string quantization = (folder.path() / "b/tiny_hf_quant_config.json").string();
  for (const std::string& path : {(folder.path() / "a").string(), named, quantization}) {
    const Architecture m = load_model(path);
    EXPECT_EQ(m.quantization.format, WeightFormat::kFp8) << path;
    EXPECT_EQ(m.quantization.kv_cache, KvFormat::kFp8) << path;
  }
}

// The config's own formats count; of the other file, the format of the KV cache alone.
TEST(QuantizationBeside, TheConfigsOwnCounts) {
  const Folder folder;
  folder.write("hf_quant_config.json", kModelOpt);
  folder.write("config.json", dense(R"({"quant_method": "awq", "bits": 4, "group_size": 32})"));
  const Architecture m = load_model(folder.path().string());
  EXPECT_EQ(m.quantization.format, WeightFormat::kInt4);
  EXPECT_EQ(m.quantization.kv_cache, KvFormat::kFp8);
}

TEST(QuantizationBeside, ItsErrorsNameItsFile) {
  const Folder folder;
  folder.write("config.json", dense("null"));
  folder.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "FP9"}})");
  const auto load = [&] { load_model(folder.path().string()); };
  EXPECT_THAT(error_of(load), HasSubstr("hf_quant_config.json:1: "));
  folder.write("hf_quant_config.json", "[]");
  EXPECT_THAT(error_of(load), HasSubstr("hf_quant_config.json:1: expected a map"));
  folder.write("hf_quant_config.json", "{");
  EXPECT_THAT(error_of(load), HasSubstr("not valid JSON"));
}

// ---- text models inside others ------------------------------------------------------------------

TEST(TextModels, AreFoundAtAnyDepthUnderAnyName) {
  const std::string text = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "hidden_act": "silu",
    "max_position_embeddings": 64})";
  for (const std::string& config : {
           R"({"architectures": ["SomeVlmForConditionalGeneration"], "model_type": "some_vlm",
               "hidden_size": 5, "text_config": )" +
               text + "}",
           R"({"architectures": ["InternVLChatModel"], "llm_config": )" + text + "}",
           R"({"model_type": "janus", "language_config": )" + text + "}",
           R"({"model_type": "omni", "thinker_config": {"model_type": "omni_thinker",
               "text_config": )" +
               text + "}}",
       }) {
    const Architecture m = read_text(config);
    EXPECT_EQ(m.family, "llama") << config;
    EXPECT_EQ(m.hidden, 64) << config;
    EXPECT_EQ(m.layers.size(), 2) << config;
  }
}

// The class of the document itself counts, where it is known; an unknown class inside is named.
TEST(TextModels, TheDocumentsOwnClassCounts) {
  EXPECT_THAT(error_of([] {
                read_text(R"({"architectures": ["NobodyForCausalLM"], "model_type": "llama"})");
              }),
              HasSubstr("hidden_size: missing"));
  EXPECT_THAT(error_of([] {
                read_text(R"({"architectures": ["NobodyVlm"], "text_config":
                            {"architectures": ["NobodyForCausalLM"], "model_type": "nobody"}})");
              }),
              HasSubstr("architecture 'NobodyVlm' is not supported"));
  EXPECT_THAT(error_of([] { read_text(R"({"model_type": "x", "llm_config": 3})"); }),
              HasSubstr("llm_config: expected a map"));
}

}  // namespace formats_test
}  // namespace orrery
