// Is the model found that was asked for, by every name in use?
#include "orrery/model/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/model/testing.h"

namespace orrery {
namespace catalog_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kTiny = R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_layer": 1,
  "n_head": 2, "n_positions": 16, "vocab_size": 10})";

std::string id_of(const std::string& name) { return load_model(name).id; }

// Every name that load_model knows without a slash: models and their quantised variants.
std::vector<std::string> all_ids() {
  std::vector<std::string> ids = model_ids();
  for (const ModelVariant& v : model_variants()) ids.push_back(v.id);
  return ids;
}

TEST(ModelCatalog, HasAtLeast120ModelsAndAllCanBeRead) {
  const std::vector<std::string> ids = all_ids();
  EXPECT_GE(model_ids().size(), 120u);
  for (const std::string& id : ids) {
    EXPECT_EQ(id_of(id), id);
    EXPECT_EQ(id, canonical_name(id));
  }
}

TEST(ModelCatalog, IndexAndFilesNameTheSameModels) {
  std::vector<std::string> indexed;
  for (const ModelEntry& e : model_index()) indexed.push_back(e.id);
  EXPECT_EQ(indexed, model_ids());
}

TEST(ModelCatalog, NoNameMeansTwoModels) {
  std::map<std::string, std::string> seen;
  for (const ModelEntry& e : model_index()) {
    std::vector<std::string> names = e.aliases;
    names.push_back(e.id);
    for (const std::string& name : names) {
      const auto [at, fresh] = seen.emplace(canonical_name(name), e.id);
      EXPECT_TRUE(fresh) << name << " of " << e.id << " is a name of " << at->second;
    }
  }
  for (const ModelVariant& v : model_variants()) {
    std::vector<std::string> names = v.aliases;
    names.push_back(v.id);
    for (const std::string& name : names) {
      const auto [at, fresh] = seen.emplace(canonical_name(name), v.id);
      EXPECT_TRUE(fresh) << name << " of " << v.id << " is a name of " << at->second;
    }
  }
}

// The variant has the layers of its model and the formats of its own checkpoint, also where the
// model's own quantisation stands in its text_config (Kimi-K2.5: int4 experts in groups of 32).
TEST(ModelCatalog, AVariantHasTheShapeOfItsModelAndItsOwnFormat) {
  EXPECT_EQ(load_model("kimi-k2.5").quantization.method, "compressed-tensors");
  const Architecture variant = load_model("nvidia/Kimi-K2.5-NVFP4");
  EXPECT_EQ(variant.id, "kimi-k2.5-nvfp4");
  EXPECT_EQ(variant.quantization.method, "modelopt");
  for (const ModelVariant& v : model_variants()) {
    const Architecture model = load_model(v.of), quantised = load_model(v.id);
    EXPECT_EQ(quantised.layers.specs(), model.layers.specs()) << v.id;
    EXPECT_EQ(quantised.layers.runs(), model.layers.runs()) << v.id;
    EXPECT_NE(quantised.quantization, model.quantization) << v.id;
    EXPECT_NE(quantised.quantization.method, "") << v.id;
  }
}

TEST(ModelCatalog, VariantsOfAnOverlayNameModelsThatExist) {
  const Folder folder;
  folder.write("models/my-model.json", kTiny);
  folder.write("models/variants.json", R"({"my-model-int8": {"of": "my-model",
    "aliases": ["Me/My-Model-INT8"], "quantization_config": {"quant_method": "gptq", "bits": 8},
    "config": {"n_positions": 32}}})");
  EXPECT_EQ(load_model("me/my_model_int8", Bundle(folder.path())).id, "my-model-int8");
  EXPECT_EQ(load_model("my-model-int8", Bundle(folder.path())).hidden, 8);
  EXPECT_EQ(load_model("my-model", Bundle(folder.path())).max_context, 16);
  EXPECT_EQ(load_model("my-model-int8", Bundle(folder.path())).max_context, 32);

  const auto error_with = [](const std::string& variants) {
    const Folder other;
    other.write("models/variants.json", variants);
    return error_of([&] { model_variants(Bundle(other.path())); });
  };
  EXPECT_THAT(error_with(R"({"absent-int8": {"of": "absent", "aliases": []}})"),
              AllOf(HasSubstr("variants.json:1"), HasSubstr("there is no model 'absent'")));
  EXPECT_THAT(error_with(R"({"int8": {"of": "llama-2-7b", "aliases": []}})"),
              HasSubstr("begins with 'llama-2-7b-'"));
}

TEST(ModelCatalog, UnknownNamesAreComparedWithVariantsToo) {
  EXPECT_THAT(error_of([] { load_model("nvidia/Qwen3-32B-NVFP5"); }),
              HasSubstr("did you mean 'nvidia/Qwen3-32B-NVFP4'"));
}

// The models of the suites and of the measured tables of inference and layers.
constexpr const char* kModelsOfSuitesAndTables[] = {"llama-2-7b",
                                                    "llama-2-13b",
                                                    "llama-2-70b",
                                                    "llama-3-8b",
                                                    "llama-3-70b",
                                                    "gpt-3-175b",
                                                    "mixtral-8x7b",
                                                    "falcon-40b",
                                                    "gpt2-medium",
                                                    "gpt-j-6b",
                                                    "aquila-7b",
                                                    "bloom-7b1",
                                                    "decilm-7b",
                                                    "llama-7b",
                                                    "mistral-7b",
                                                    "opt-6.7b",
                                                    "qwen1.5-7b",
                                                    "qwen2-72b",
                                                    "qwen2-7b",
                                                    "internlm-20b",
                                                    "llama-3.1-405b",
                                                    "llama-3.1-70b",
                                                    "llama-3.1-8b",
                                                    "llama-3.3-70b",
                                                    "llama-4-maverick",
                                                    "llama-4-scout",
                                                    "mixtral-8x22b",
                                                    "qwen3-235b-a22b",
                                                    "qwen3-30b-a3b",
                                                    "falcon-180b",
                                                    "kimi-k2.5",
                                                    "minimax-m2.5",
                                                    "qwen3-32b",
                                                    "qwen3.5-397b-a17b",
                                                    "deepseek-r1",
                                                    "acemath-7b",
                                                    "gemma-2-9b",
                                                    "nemotron-70b",
                                                    "phi-4",
                                                    "qwq-32b",
                                                    "r1-distill-llama-70b",
                                                    "r1-distill-llama-8b",
                                                    "r1-distill-qwen-1.5b",
                                                    "r1-distill-qwen-14b",
                                                    "r1-distill-qwen-32b",
                                                    "r1-distill-qwen-7b",
                                                    "llama-13b",
                                                    "deepseek-v3.1",
                                                    "glm-5",
                                                    "gpt-oss-120b",
                                                    "gemma-3-12b",
                                                    "gemma-3-27b",
                                                    "gpt-oss-20b",
                                                    "nemotron-nano-12b",
                                                    "nemotron-nano-9b",
                                                    "qwen3-14b",
                                                    "qwen3-8b",
                                                    "qwen3-coder-30b-a3b",
                                                    "qwen3-coder-480b-a35b",
                                                    "vicuna-7b",
                                                    "vicuna-13b",
                                                    "vicuna-33b",
                                                    "bloom-176b",
                                                    "glm-5.2-fp8",
                                                    "opt-13b",
                                                    "opt-66b",
                                                    "qwen-72b",
                                                    "codellama-34b-instruct",
                                                    "phi-2",
                                                    "deepseek-ai/DeepSeek-V3",
                                                    "nvidia/DeepSeek-R1-NVFP4",
                                                    "nvidia/DeepSeek-V3.1-NVFP4",
                                                    "zhipuai/GLM-5",
                                                    "openai/gpt-oss-120b",
                                                    "moonshotai/Kimi-K2.5",
                                                    "meta-llama/Llama-3.1-70B",
                                                    "meta-llama/Llama-3.1-8B-Instruct",
                                                    "MiniMaxAI/MiniMax-M2.5",
                                                    "Qwen/Qwen3-235B-A22B-FP8",
                                                    "Qwen/Qwen3-32B",
                                                    "nvidia/Qwen3-32B-NVFP4",
                                                    "Qwen/Qwen3.5-397B-A17B",
                                                    "google/gemma-3-12b-it",
                                                    "meta-llama/Llama-3.1-405B-Instruct-FP8",
                                                    "nvidia/NVIDIA-Nemotron-Nano-12B-v2",
                                                    "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8",
                                                    "Qwen/Qwen3-Coder-480B-A35B-Instruct",
                                                    "bert_large",
                                                    "gpt2_large",
                                                    "gpt3-175b",
                                                    "deepseek-v4-pro",
                                                    "kimi-k3",
                                                    "minimax-m3",
                                                    "turing-530b"};

TEST(ModelCatalog, KnowsTheModelsOfTheSuitesAndTables) {
  for (const char* name : kModelsOfSuitesAndTables)
    EXPECT_EQ(error_of([&] { load_model(name); }), "no InputError") << name;
}

// Models that NVIDIA's AIConfigurator lists in August 2026, and quantised checkpoints of them.
TEST(ModelCatalog, KnowsTheModelsOfAugust2026ByTheirHuggingFaceIds) {
  for (const char* name : {"MiniMaxAI/MiniMax-M2.5",
                           "MiniMaxAI/MiniMax-M2.7",
                           "MiniMaxAI/MiniMax-M3",
                           "Qwen/Qwen3-0.6B",
                           "Qwen/Qwen3-1.7B",
                           "Qwen/Qwen3-235B-A22B-FP8",
                           "Qwen/Qwen3-235B-A22B",
                           "Qwen/Qwen3-30B-A3B-FP8",
                           "Qwen/Qwen3-30B-A3B",
                           "Qwen/Qwen3-32B-FP8-Static-PerTensor",
                           "Qwen/Qwen3-32B-FP8",
                           "Qwen/Qwen3-32B",
                           "Qwen/Qwen3-8B",
                           "Qwen/Qwen3-Coder-480B-A35B-Instruct",
                           "Qwen/Qwen3-VL-235B-A22B-Instruct",
                           "Qwen/Qwen3-VL-2B-Instruct",
                           "Qwen/Qwen3-VL-32B-Instruct",
                           "Qwen/Qwen3-VL-32B-Thinking",
                           "Qwen/Qwen3-VL-4B-Instruct",
                           "Qwen/Qwen3-VL-8B-Instruct",
                           "Qwen/Qwen3.5-122B-A10B",
                           "Qwen/Qwen3.5-27B",
                           "Qwen/Qwen3.5-35B-A3B",
                           "Qwen/Qwen3.5-397B-A17B",
                           "XiaomiMiMo/MiMo-7B-Base",
                           "XiaomiMiMo/MiMo-V2-Flash",
                           "deepseek-ai/DeepSeek-R1",
                           "deepseek-ai/DeepSeek-V3.2",
                           "deepseek-ai/DeepSeek-V3",
                           "deepseek-ai/DeepSeek-V4-Flash",
                           "deepseek-ai/DeepSeek-V4-Pro",
                           "google/gemma-4-26B-A4B",
                           "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
                           "meta-llama/Llama-4-Scout-17B-16E-Instruct",
                           "meta-llama/Meta-Llama-3.1-405B",
                           "meta-llama/Meta-Llama-3.1-70B",
                           "meta-llama/Meta-Llama-3.1-8B",
                           "mistralai/Mixtral-8x22B-v0.1",
                           "mistralai/Mixtral-8x7B-v0.1",
                           "moonshotai/Kimi-K2-Instruct",
                           "moonshotai/Kimi-K2.5",
                           "moonshotai/Kimi-K3",
                           "nvidia/DeepSeek-V3.1-NVFP4",
                           "nvidia/DeepSeek-V3.2-NVFP4",
                           "nvidia/DeepSeek-V4-Flash-NVFP4",
                           "nvidia/GLM-5-NVFP4",
                           "nvidia/GLM-5.1-NVFP4",
                           "nvidia/Gemma-4-26B-A4B-NVFP4",
                           "nvidia/Kimi-K2.5-NVFP4",
                           "nvidia/Kimi-K2.6-NVFP4",
                           "nvidia/Llama-3.1-70B-Instruct-FP8",
                           "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
                           "nvidia/MiniMax-M2.5-NVFP4",
                           "nvidia/MiniMax-M2.7-NVFP4",
                           "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
                           "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
                           "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
                           "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
                           "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
                           "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8",
                           "nvidia/Nemotron-H-56B-Base-8K",
                           "nvidia/Qwen3-235B-A22B-NVFP4",
                           "nvidia/Qwen3.5-122B-A10B-NVFP4",
                           "nvidia/Qwen3.5-397B-A17B-NVFP4",
                           "nvidia/Qwen3.6-27B-NVFP4",
                           "openai/gpt-oss-120b",
                           "openai/gpt-oss-20b",
                           "sgl-project/DeepSeek-V4-Flash-FP8",
                           "sgl-project/DeepSeek-V4-Pro-FP8",
                           "stepfun-ai/Step-3.7-Flash",
                           "zai-org/GLM-5-FP8",
                           "zai-org/GLM-5.1-FP8",
                           "zai-org/GLM-5.1",
                           "zai-org/GLM-5.2-FP8",
                           "zai-org/GLM-5.2",
                           "zai-org/GLM-5"}) {
    EXPECT_EQ(error_of([&] { load_model(name); }), "no InputError") << name;
  }
}

TEST(ModelCatalog, AliasesIgnoreCaseAndUnderscores) {
  EXPECT_EQ(id_of("LLAMA-3-8B"), "llama-3-8b");
  EXPECT_EQ(id_of("llama_3_8b"), "llama-3-8b");
  EXPECT_EQ(id_of("META-LLAMA/llama-3.1-8b"), "llama-3.1-8b");
}

TEST(ModelCatalog, UnknownNameNamesTheNearest) {
  EXPECT_THAT(
      error_of([] { load_model("lama-3-8b"); }),
      AllOf(HasSubstr("unknown model 'lama-3-8b'"), HasSubstr("did you mean 'llama-3-8b'?")));
  EXPECT_THAT(error_of([] { load_model("index"); }), HasSubstr("unknown model 'index'"));
}

TEST(ModelCatalog, ReadsAFileOrTheDirectoryThatHoldsIt) {
  const Folder folder;
  const std::string file = folder.write("config.json", kTiny).string();
  EXPECT_EQ(load_model(file).hidden, 8);
  EXPECT_EQ(load_model(file).id, file);
  EXPECT_EQ(load_model(folder.path().string()).hidden, 8);
  EXPECT_THAT(error_of([&] { load_model((folder.path() / "none.json").string()); }),
              HasSubstr("no such file"));
}

TEST(ModelCatalog, ErrorsOfAFileNameItsPath) {
  const Folder folder;
  const std::string file = folder.write("config.json", "{\"architectures\": [\n").string();
  EXPECT_THAT(error_of([&] { load_model(file); }),
              AllOf(HasSubstr(file), HasSubstr("not valid JSON")));
}

TEST(ModelCatalog, RefusesAHugeFileBySize) {
  const Folder folder;
  const auto file = folder.write("config.json", "");
  std::filesystem::resize_file(file, 500'000'000);  // sparse: no bytes on disk
  EXPECT_THAT(error_of([&] { load_model(file.string()); }), HasSubstr("500000000 bytes"));
}

TEST(ModelCatalog, AnOverlayAddsAndReplacesModels) {
  const Folder folder;
  folder.write("models/my-model.json", kTiny);
  folder.write("models/llama-2-7b.json", kTiny);
  const Bundle bundle(folder.path());
  EXPECT_EQ(load_model("My_Model", bundle).hidden, 8);
  EXPECT_EQ(load_model("meta-llama/Llama-2-7b-hf", bundle).hidden, 8);
  EXPECT_EQ(load_model("llama-2-13b", bundle).hidden, 5120);
  const auto ids = model_ids(bundle);
  EXPECT_TRUE(std::find(ids.begin(), ids.end(), "my-model") != ids.end());
  EXPECT_EQ(load_model("llama-2-7b").hidden, 4096);
}

}  // namespace catalog_test
}  // namespace orrery
