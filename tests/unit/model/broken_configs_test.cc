// Configs that are cut off, nested without end, far too large or contradict themselves: one message
// of one line, soon.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/bundle.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace broken_configs_test {

using testing::HasSubstr;

// Models whose configs differ most from each other.
constexpr const char* kModels[] = {
    "deepseek-v4-flash",   "kimi-k3",       "nemotron-3-nano-30b-a3b", "gemma-4-26b-a4b",
    "qwen3.5-35b-a3b",     "minimax-m3",    "mimo-v2-flash",           "glm-5.2",
    "granite-4.0-h-small", "step-3.7-flash"};

std::string bundled(const std::string& model) {
  const auto file = Bundle().find("models/" + model + ".json");
  if (!file) throw InputError("no model " + model);
  return std::string(file->content);
}

// The message of a config that must be refused: one line that names the file.
std::string refusal(const std::string& text) {
  const std::string message = error_of([&] { read_text(text); });
  EXPECT_NE(message, "no InputError");
  EXPECT_TRUE(message.starts_with("config.json")) << message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
  EXPECT_LE(message.size(), 2'500u) << message.substr(0, 200);
  return message;
}

// `text` with the value of a key replaced. REQUIRES that the value is no map and has no text with
// brackets.
std::string with(std::string text, const std::string& key, const std::string& value) {
  const std::size_t at = text.find("\"" + key + "\":");
  if (at == std::string::npos) {
    text.insert(text.find('{') + 1, fmt::format("\"{}\": {}, ", key, value));
    return text;
  }
  std::size_t begin = at + key.size() + 3;
  while (text[begin] == ' ') ++begin;
  std::size_t end = begin;
  if (text[begin] == '[') {
    end = text.find(']', begin) + 1;
  } else if (text[begin] == '"') {
    end = text.find('"', begin + 1) + 1;
  } else {
    end = text.find_first_of(",}\n", begin);
  }
  return text.replace(begin, end - begin, value);
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(BrokenConfigs, CutAnywhere) {
  for (const char* model : kModels) {
    const std::string text = bundled(model);
    EXPECT_EQ(error_of([&] { read_text(text); }), "no InputError") << model;
    const std::size_t end = text.rfind('}');
    for (std::size_t cut = 0; cut < end; cut += 1 + text.size() / 60) {
      EXPECT_THAT(refusal(text.substr(0, cut)), HasSubstr("not valid JSON")) << model << ' ' << cut;
    }
  }
}

TEST(BrokenConfigs, NestedAThousandDeep) {
  for (const char* name : {"text_config", "llm_config", "thinker_config"}) {
    const std::string open = fmt::format("{{\"{}\": ", name);
    EXPECT_THAT(refusal(repeated(open, 1000) + "{}" + repeated("}", 1000)),
                HasSubstr("nested deeper than 64 levels"));
    // Down to the limit, each map is a text model of the one that holds it.
    EXPECT_THAT(refusal(repeated(open, 60) + "{}" + repeated("}", 60)),
                HasSubstr("neither 'architectures' nor 'model_type' is given"));
  }
  for (const char* key : {"quantization_config", "layer_types", "rope_parameters"}) {
    EXPECT_THAT(refusal(with(bundled("qwen3-8b"), key, repeated("[", 1000) + repeated("]", 1000))),
                HasSubstr("nested deeper than 64 levels"));
  }
}

TEST(BrokenConfigs, AHundredThousandLayers) {
  for (const char* model : {"llama-3-8b", "deepseek-v4-flash", "kimi-k3", "gemma-4-26b-a4b",
                            "qwen3.5-35b-a3b", "minimax-m3", "mimo-v2-flash", "glm-5.2"}) {
    EXPECT_THAT(refusal(with(bundled(model), "num_hidden_layers", "100000")),
                HasSubstr("1 to 1024"))
        << model;
  }
  EXPECT_NE(refusal(with(bundled("nemotron-3-nano-30b-a3b"), "hybrid_override_pattern",
                         "\"" + repeated("M*E-", 25'000) + "\"")),
            "");
  const std::string hundred_thousand = "[" + repeated("0, ", 99'999) + "0]";
  const std::string types = "[" + repeated("\"full_attention\", ", 99'999) + "\"full_attention\"]";
  EXPECT_THAT(refusal(with(bundled("qwen3-8b"), "num_hidden_layers", "\"36\"")),
              HasSubstr("num_hidden_layers"));
  EXPECT_THAT(refusal(with(bundled("deepseek-v4-flash"), "num_nextn_predict_layers", "100000")),
              HasSubstr("0 to 1024"));
  EXPECT_THAT(refusal(with(bundled("gemma-4-26b-a4b"), "layer_types", types)),
              HasSubstr("100000 entries for 30 layers"));
  EXPECT_THAT(refusal(with(bundled("minimax-m3"), "moe_layer_freq", hundred_thousand)),
              HasSubstr("100000 entries for"));
  std::string skipped = "\"model.layers.0.mlp\"";
  for (int i = 1; i < 60'000; ++i) skipped += fmt::format(", \"model.layers.{}.mlp\"", i);
  EXPECT_THAT(refusal(with(bundled("llama-3-8b"), "quantization_config",
                           "{\"quant_algo\": \"FP8\", \"exclude_modules\": [" + skipped + "]}")),
              HasSubstr("60000 modules are named; at most 50000"));
}

TEST(BrokenConfigs, ListsThatContradictTheLayers) {
  struct Case {
    const char* model;
    const char* key;
    const char* value;
  };
  for (const Case& c : {
           Case{"gemma-4-26b-a4b", "layer_types", R"(["full_attention"])"},
           Case{"gemma-4-26b-a4b", "layer_types", "[]"},
           Case{"gemma-4-26b-a4b", "layer_types", R"("full_attention")"},
           Case{"qwen3.5-35b-a3b", "layer_types", R"(["linear_attention", "full_attention"])"},
           Case{"deepseek-v4-flash", "compress_ratios", "[4, 128]"},
           Case{"deepseek-v4-flash", "compress_ratios", "[-4]"},
           Case{"deepseek-v4-flash", "layer_types", R"(["sliding_attention"])"},
           Case{"minimax-m3", "moe_layer_freq", "[1]"},
           Case{"minimax-m3", "moe_layer_freq", R"([1, "x"])"},
           Case{"mimo-v2-flash", "hybrid_layer_pattern", "[0, 1]"},
           Case{"mimo-v2-flash", "moe_layer_freq", "[0, 1]"},
           Case{"kimi-k3", "kda_layers", "[100000]"},
           Case{"kimi-k3", "kda_layers", "[0]"},
           Case{"glm-5.2", "indexer_types", R"(["full"])"},
           Case{"nemotron-3-nano-30b-a3b", "hybrid_override_pattern", R"("M")"},
           Case{"nemotron-3-nano-30b-a3b", "hybrid_override_pattern", R"("")"},
           Case{"nemotron-3-nano-30b-a3b", "hybrid_override_pattern", R"("X")"},
       }) {
    EXPECT_THAT(refusal(with(bundled(c.model), c.key, c.value)), HasSubstr(c.key))
        << c.model << ": " << c.key << ": " << c.value;
  }
}

TEST(BrokenConfigs, NumbersOfPython) {
  for (const char* value : {"Infinity", "-Infinity", "NaN", "1e400"}) {
    EXPECT_NE(refusal(with(bundled("llama-3-8b"), "hidden_size", value)), "") << value;
  }
  EXPECT_THAT(refusal(with(bundled("llama-3-8b"), "hidden_size", "Infinity")),
              HasSubstr("hidden_size: expected a whole number, got 'Infinity'"));
  // Where nothing reads them they do no harm.
  EXPECT_EQ(error_of([] {
              read_text(with(bundled("llama-3-8b"), "time_step_limit", "[0.0, Infinity]"));
            }),
            "no InputError");
}

}  // namespace broken_configs_test
}  // namespace orrery
