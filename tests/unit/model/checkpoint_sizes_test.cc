// Predicted sizes of quantised checkpoints against published ones: the total_size of
// model.safetensors.index.json, or the sum of the safetensors files. Sizes are as published: bytes,
// GiB in logs of vLLM ("Checkpoint size"), GB with two decimals in model cards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/bundle.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace checkpoint_sizes_test {

constexpr double kGb = 1e9, kGib = 1024.0 * 1024 * 1024;

struct Published {
  const char* checkpoint;
  const char* model;         // of the catalog
  std::string quantization;  // its quantization_config; empty: that of the catalog
  double bytes;
  const char* source;
};

std::string gptq(int bits, int group) {
  return fmt::format(R"({{"quant_method": "gptq", "bits": {}, "group_size": {}}})", bits, group);
}

const std::string kAwq = R"({"quant_method": "awq", "bits": 4, "group_size": 128})";

// hf_quant_config.json of the checkpoint, with '*' for the number of the layer.
const std::string kGemmaNvfp4 = R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
  "group_size": 16, "exclude_modules": ["lm_head", "model.embed_vision*", "model.vision_tower*",
  "model.language_model.layers.*.mlp*", "model.language_model.layers.*.router*",
  "model.language_model.layers.*.self_attn*"]})";

constexpr const char* kCard = "Provided files of the model card at huggingface.co/TheBloke";

const std::vector<Published>& published() {
  static const std::vector<Published> kRows = {
      {"deepseek-ai/DeepSeek-V3", "deepseek-v3", "", 688'586'727'753,
       "files of the repository at afb92e1"},
      {"moonshotai/Kimi-K2-Instruct", "kimi-k2", "", 1'029'190'981'272,
       "files of the repository at fd1984e"},
      {"moonshotai/Kimi-K3", "kimi-k3", "", 1'560'860'324'864, "model.safetensors.index.json"},
      {"deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-flash", "", 148.66 * kGib,
       "log of github.com/vllm-project/vllm/issues/40821"},
      {"openai/gpt-oss-120b", "gpt-oss-120b", "", 60.8 * kGib, "arXiv:2508.10925, table 1"},
      {"openai/gpt-oss-20b", "gpt-oss-20b", "", 12.8 * kGib, "arXiv:2508.10925, table 1"},
      {"nvidia/Gemma-4-26B-A4B-NVFP4", "gemma-4-26b-a4b", kGemmaNvfp4, 17.50 * kGib,
       "log of vLLM, May 2026"},
      {"Mixtral-8x7B-Instruct-v0.1-GPTQ:main", "mixtral-8x7b", gptq(4, -1), 23.81 * kGb, kCard},
      {"Mixtral-8x7B-Instruct-v0.1-GPTQ:128g", "mixtral-8x7b", gptq(4, 128), 24.70 * kGb, kCard},
      {"Mixtral-8x7B-Instruct-v0.1-GPTQ:32g", "mixtral-8x7b", gptq(4, 32), 27.42 * kGb, kCard},
      {"MythoMax-L2-13B-GPTQ:main", "llama-2-13b", gptq(4, 128), 7.26 * kGb, kCard},
      {"MythoMax-L2-13B-GPTQ:32g", "llama-2-13b", gptq(4, 32), 8.00 * kGb, kCard},
      {"MythoMax-L2-13B-GPTQ:64g", "llama-2-13b", gptq(4, 64), 7.51 * kGb, kCard},
      {"TinyLlama-1.1B-Chat-v1.0-GPTQ:main", "tinyllama-1.1b", gptq(4, 128), 0.77 * kGb, kCard},
      {"TinyLlama-1.1B-Chat-v1.0-GPTQ:32g", "tinyllama-1.1b", gptq(4, 32), 0.82 * kGb, kCard},
      {"TinyLlama-1.1B-Chat-v1.0-GPTQ:8bit", "tinyllama-1.1b", gptq(8, -1), 1.23 * kGb, kCard},
      {"TinyLlama-1.1B-Chat-v1.0-GPTQ:8bit-128g", "tinyllama-1.1b", gptq(8, 128), 1.26 * kGb,
       kCard},
      {"phi-2-GPTQ:main", "phi-2", gptq(4, 128), 1.84 * kGb, kCard},
      {"phi-2-GPTQ:32g", "phi-2", gptq(4, 32), 1.98 * kGb, kCard},
      {"phi-2-GPTQ:8bit", "phi-2", gptq(8, -1), 3.05 * kGb, kCard},
      {"phi-2-GPTQ:8bit-128g", "phi-2", gptq(8, 128), 3.10 * kGb, kCard},
      {"vigogne-2-70B-chat-GPTQ:main", "llama-2-70b", gptq(4, -1), 35.33 * kGb, kCard},
      {"vigogne-2-70B-chat-GPTQ:128g", "llama-2-70b", gptq(4, 128), 36.65 * kGb, kCard},
      {"vigogne-2-70B-chat-GPTQ:32g", "llama-2-70b", gptq(4, 32), 40.66 * kGb, kCard},
      {"CodeLlama-34B-Instruct-GPTQ:main", "codellama-34b", gptq(4, 128), 18.33 * kGb, kCard},
      {"CodeLlama-34B-Instruct-GPTQ:32g", "codellama-34b", gptq(4, 32), 20.28 * kGb, kCard},
      {"CodeLlama-34B-Instruct-GPTQ:64g", "codellama-34b", gptq(4, 64), 18.98 * kGb, kCard},
      {"Phind-CodeLlama-34B-v2-GPTQ:main", "codellama-34b", gptq(4, -1), 17.69 * kGb, kCard},
      {"zephyr-7B-beta-GPTQ:main", "mistral-7b", gptq(4, 128), 4.16 * kGb, kCard},
      {"zephyr-7B-beta-GPTQ:32g", "mistral-7b", gptq(4, 32), 4.57 * kGb, kCard},
      {"zephyr-7B-beta-GPTQ:8bit", "mistral-7b", gptq(8, -1), 7.52 * kGb, kCard},
      {"zephyr-7B-beta-GPTQ:8bit-128g", "mistral-7b", gptq(8, 128), 7.68 * kGb, kCard},
      {"Llama-2-7b-Chat-GPTQ:main", "llama-2-7b", gptq(4, 128), 3.90 * kGb, kCard},
      {"Llama-2-7b-Chat-GPTQ:64g", "llama-2-7b", gptq(4, 64), 4.02 * kGb, kCard},
      {"Llama-2-7b-Chat-GPTQ:32g", "llama-2-7b", gptq(4, 32), 4.28 * kGb, kCard},
      {"Mistral-7B-v0.1-AWQ", "mistral-7b", kAwq, 4.15 * kGb, kCard},
      {"Upstage-Llama-2-70B-instruct-v2-AWQ", "llama-2-70b", kAwq, 36.61 * kGb, kCard},
      {"LlamaGuard-7B-AWQ", "llama-2-7b", kAwq, 3.89 * kGb, kCard},
      {"LLaMA2-13B-Tiefighter-AWQ", "llama-2-13b", kAwq, 7.25 * kGb, kCard},
      {"TinyLlama-1.1B-Chat-v1.0-AWQ", "tinyllama-1.1b", kAwq, 0.77 * kGb, kCard},
  };
  return kRows;
}

Architecture checkpoint(const Published& row) {
  if (row.quantization.empty()) return load_model(row.model);
  const auto file = Bundle().find(fmt::format("models/{}.json", row.model));
  if (!file) throw InputError(std::string("no model ") + row.model);
  Node config = parse_json(file->content, file->name);
  set_path(config, "quantization_config", parse_json(row.quantization, "quantization"));
  return read_hf_config(config, row.model);
}

TEST(CheckpointSizes, AreWithinOnePercentOfThePublished) {
  double sum = 0;
  for (const Published& row : published()) {
    const double error = checkpoint_bytes(checkpoint(row)).value() / row.bytes - 1;
    EXPECT_LE(std::abs(error), 0.01)
        << fmt::format("{} ({}): {:+.2f} %", row.checkpoint, row.source, 100 * error);
    sum += std::abs(error);
  }
  EXPECT_GE(published().size(), 25u);
  EXPECT_LE(sum / static_cast<double>(published().size()), 0.005);
}

}  // namespace checkpoint_sizes_test
}  // namespace orrery
