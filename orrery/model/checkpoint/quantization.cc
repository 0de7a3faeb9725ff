#include "orrery/model/checkpoint/quantization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace orrery {
namespace {

constexpr int kMostGroup = 1 << 20;
constexpr std::size_t kMostModules = 50'000, kMostPatterns = 1'000;

const Node* present(const Node& map, std::string_view name) {
  const Node* node = map.find(name);
  return node == nullptr || node->is_null() ? nullptr : node;
}

bool flag(const Node& map, std::string_view name, bool fallback) {
  const Node* node = present(map, name);
  return node == nullptr ? fallback : node->as_bool();
}

WeightFormat integer_format(const Node& bits) {
  const std::int64_t v = bits.as_int();
  if (v == 8) return WeightFormat::kInt8;
  if (v == 4) return WeightFormat::kInt4;
  bits.fail(fmt::format("expected 4 or 8 bits, got {}", v));
}

const Node& first_of(const Node& map, std::string_view name, std::string_view other) {
  const Node* node = map.find(name);
  return node != nullptr ? *node : map.at(other);
}

void read_blocks(const Node& map, std::string_view name, StoredFormat& f) {
  const Node* block = present(map, name);
  if (block == nullptr) return;
  if (!block->is_list() || block->items().size() != 2) block->fail("expected [rows, columns]");
  const auto side = [](const Node& n) {
    const std::int64_t v = n.as_int();
    if (v < 1 || v > kMostGroup) n.fail(fmt::format("expected a positive block size, got {}", v));
    return static_cast<int>(v);
  };
  f.block_rows = side(block->items()[0]);
  f.block_columns = side(block->items()[1]);
}

// ---- transformers -------------------------------------------------------------------------------

// Scales are fp32: for each block, else one of the weights and, if static, one of the inputs.
void read_fp8(const Node& map, QuantizationRules& rules) {
  StoredFormat f;
  f.format = WeightFormat::kFp8;
  f.scale_bytes = 4;
  f.scale_per_row = rules.method == "fbgemm_fp8";
  read_blocks(map, "weight_block_size", f);
  // "dynamic", or static: a scale of the inputs is stored.
  const Node* scheme = present(map, "activation_scheme");
  if (scheme != nullptr && scheme->as_string() != "dynamic") f.matrix_bytes = 4;
  rules.linear = f;
  // Layers that ModelOpt quantised again in a checkpoint that was in fp8.
  read_quantized_layers(map, rules);
  read_skipped(map, "modules_to_not_convert", rules);
  read_skipped(map, "ignored_layers", rules);
}

// GPTQ stores 16-bit scales, packed zeros and, for each input, the number of its group.
// GPTQModel lists modules that are not quantised in "dynamic" as "-:" and a regular expression.
void read_gptq(const Node& map, QuantizationRules& rules) {
  StoredFormat f;
  f.format = integer_format(first_of(map, "bits", "w_bit"));
  f.group = read_group(map, {"group_size", "q_group_size"});
  f.scale_per_row = f.group == 0;
  f.scale_bytes = 2;
  f.weights_only = true;
  if (rules.method == "awq") {
    f.zero_points = flag(map, "zero_point", true);
  } else {
    f.zero_points = true;
    f.column_bytes = 4;
  }
  rules.linear = f;
  rules.lm_head = flag(map, "lm_head", false);
  read_skipped(map, "modules_to_not_convert", rules);
  if (const Node* dynamic = present(map, "dynamic")) {
    if (!dynamic->is_map()) dynamic->fail("expected a map from modules to their settings");
    for (std::size_t i = 0; i < dynamic->keys().size(); ++i) {
      const std::string& key = dynamic->keys()[i];
      if (!key.starts_with("-:")) continue;
      rules.skipped.emplace_back(dynamic->items()[i], "re:" + key.substr(2));
      rules.skipped_texts.push_back(key);
    }
  }
  // AutoRound keeps modules of 16 bits in extra_config.
  const Node* extra = present(map, "extra_config");
  if (extra == nullptr || !extra->is_map()) return;
  for (std::size_t i = 0; i < extra->keys().size(); ++i) {
    const Node& item = extra->items()[i];
    const Node* bits = item.find("bits");
    if (bits == nullptr || bits->is_null() || bits->as_int() < 16) continue;
    rules.skipped.emplace_back(item, extra->keys()[i]);
    rules.skipped_texts.push_back(extra->keys()[i]);
  }
}

// 4 bits in groups of 64 (QLoRA, arXiv:2305.14314, section 3): a scale of fp32, or with double
// quantisation of 8 bits and an fp32 for 256 of them.
void read_bitsandbytes(const Node& map, QuantizationRules& rules) {
  StoredFormat f;
  if (flag(map, "load_in_4bit", false)) {
    f.format = WeightFormat::kInt4;
    f.group = 64;
    f.scale_bytes = flag(map, "bnb_4bit_use_double_quant", false) ? 1 + 4.0 / 256 : 4;
    f.weights_only = true;
  } else if (flag(map, "load_in_8bit", false)) {
    f.format = WeightFormat::kInt8;
    f.scale_per_row = true;
    f.scale_bytes = 4;
  } else {
    map.fail("expected load_in_4bit or load_in_8bit to be true");
  }
  rules.linear = f;
  read_skipped(map, "llm_int8_skip_modules", rules);
}

// The experts of gpt-oss; other layers have no such kernel (modeling_gpt_oss.py).
void read_mxfp4(const Node& map, QuantizationRules& rules) {
  StoredFormat f;
  f.format = WeightFormat::kMxfp4;
  f.group = 32;
  f.scale_bytes = 1;
  f.weights_only = true;
  rules.experts = f;
  read_skipped(map, "modules_to_not_convert", rules);
}

// ---- compressed-tensors -------------------------------------------------------------------------

StoredFormat floating_format(const Node& weights) {
  StoredFormat f;
  const Node& bits = weights.at("num_bits");
  const std::int64_t v = bits.as_int();
  f.group = read_group(weights, {"group_size"});
  if (v == 4) {
    // One 8-bit scale a group. nvfp4 has groups of 16 and two fp32 scales a matrix; mxfp4 has 32.
    f.format = f.group == 32 ? WeightFormat::kMxfp4 : WeightFormat::kNvfp4;
    if (f.group == 0) f.group = 16;
    f.scale_bytes = 1;
    f.matrix_bytes = f.format == WeightFormat::kNvfp4 ? 8 : 0;
    return f;
  }
  if (v != 8) bits.fail(fmt::format("expected 4 or 8 bits, got {}", v));
  f.format = WeightFormat::kFp8;
  f.scale_bytes = f.group > 0 ? 1 : 2;
  read_blocks(weights, "block_structure", f);
  const Node* strategy = present(weights, "strategy");
  f.scale_per_row = strategy != nullptr && strategy->as_string() == "channel";
  return f;
}

// Packed integers with a scale of 16 bits a group; asymmetric ones have zeros.
StoredFormat integer_group(const Node& weights) {
  StoredFormat f;
  f.format = integer_format(weights.at("num_bits"));
  f.group = read_group(weights, {"group_size"});
  f.scale_per_row = f.group == 0;
  f.scale_bytes = 2;
  f.zero_points = !flag(weights, "symmetric", true);
  f.matrix_bytes = 16;  // its shape, two 64-bit numbers
  return f;
}

// ---- quark --------------------------------------------------------------------------------------

StoredFormat quark_format(const Node& config) {
  const Node& weight = config.at("weight");
  const Node& spec = weight.is_list() && !weight.items().empty() ? weight.items().front() : weight;
  const Node& dtype = spec.at("dtype");
  const Node* scheme = present(spec, "qscheme");
  StoredFormat f;
  f.group = read_group(spec, {"group_size"});
  f.scale_per_row = scheme != nullptr && scheme->as_string() == "per_channel";
  f.scale_bytes = 4;
  if (dtype.as_string() == "fp4") {
    f.format = WeightFormat::kMxfp4;
    if (f.group == 0) f.group = 32;
    f.scale_bytes = 1;
  } else if (dtype.text().starts_with("fp8")) {
    f.format = WeightFormat::kFp8;
  } else if (dtype.text().ends_with("int4")) {
    f.format = WeightFormat::kInt4;
    f.scale_bytes = 2;
  } else if (dtype.text().ends_with("int8")) {
    f.format = WeightFormat::kInt8;
  } else {
    dtype.fail(fmt::format("expected fp4, fp8_e4m3, int4 or int8, got '{}'", dtype.text()));
  }
  f.weights_only = present(config, "input_tensors") == nullptr;
  return f;
}

// AMD's Quark (quark.docs.amd.com, "export to Hugging Face format").
void read_quark(const Node& map, QuantizationRules& rules) {
  rules.linear = quark_format(map.at("global_quant_config"));
  if (const Node* layers = present(map, "layer_quant_config"); layers != nullptr) {
    if (!layers->is_map()) layers->fail("expected a map from modules to their settings");
    for (std::size_t i = 0; i < layers->keys().size(); ++i) {
      if (present(layers->items()[i], "weight") == nullptr) continue;
      rules.named.emplace_back(layers->items()[i], layers->keys()[i]);
      rules.named_formats.push_back(quark_format(layers->items()[i]));
    }
  }
  read_skipped(map, "exclude", rules);
}

// ---- all ----------------------------------------------------------------------------------------

struct Method {
  std::string_view name;
  void (*read)(const Node&, QuantizationRules&);
};

constexpr std::array kMethods = {
    Method{"fp8", read_fp8},
    Method{"fbgemm_fp8", read_fp8},
    Method{"gptq", read_gptq},
    Method{"awq", read_gptq},
    Method{"auto-round", read_gptq},
    Method{"intel/auto-round", read_gptq},
    Method{"bitsandbytes", read_bitsandbytes},
    Method{"mxfp4", read_mxfp4},
    Method{"compressed-tensors", read_compressed_tensors},
    Method{"modelopt", read_modelopt},
    Method{"modelopt_fp4", read_modelopt},
    Method{"quark", read_quark},
};

void check_sizes(const Node& map, const QuantizationRules& rules) {
  for (const auto* list : {&rules.named, &rules.skipped}) {
    if (list->size() > kMostModules) {
      map.fail(fmt::format("{} modules are named; at most {}", list->size(), kMostModules));
    }
    const auto general = std::count_if(list->begin(), list->end(),
                                       [](const ModulePattern& p) { return p.head.empty(); });
    if (static_cast<std::size_t>(general) > kMostPatterns) {
      map.fail(fmt::format("{} patterns that name no layer; at most {}", general, kMostPatterns));
    }
  }
}

}  // namespace

void read_compressed_tensors(const Node& map, QuantizationRules& rules) {
  const Node& groups = map.at("config_groups");
  if (!groups.is_map() || groups.items().empty()) groups.fail("expected at least one group");
  for (const Node& group : groups.items()) {
    const Node* weights = present(group, "weights");
    if (weights == nullptr) continue;  // of inputs or outputs alone
    StoredFormat f = weights->at("type").as_string() == "float" ? floating_format(*weights)
                                                                : integer_group(*weights);
    f.weights_only = present(group, "input_activations") == nullptr;
    const Node* targets = present(group, "targets");
    if (targets == nullptr) {
      rules.linear = f;
      continue;
    }
    if (!targets->is_list()) targets->fail("expected a list such as [\"Linear\"]");
    for (const Node& target : targets->items()) {
      const std::string& text = target.as_string();
      // Names of classes: all layers of the class.
      if (text == "Linear" || text.ends_with("Linear")) {
        rules.linear = f;
      } else if (text.ends_with("Experts")) {
        rules.experts = f;
      } else {
        rules.named.emplace_back(target, text);
        rules.named_formats.push_back(f);
      }
    }
  }
  read_skipped(map, "ignore", rules);
}

int read_group(const Node& map, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Node* node = present(map, name);
    if (node == nullptr) continue;
    const std::int64_t v = node->as_int();
    if (v == -1) return 0;
    if (v < 1 || v > kMostGroup) node->fail(fmt::format("expected -1 or a group size, got {}", v));
    return static_cast<int>(v);
  }
  return 0;
}

void read_skipped(const Node& map, std::string_view name, QuantizationRules& rules) {
  const Node* list = present(map, name);
  if (list == nullptr) return;
  if (!list->is_list()) list->fail("expected a list of modules");
  for (const Node& item : list->items()) {
    rules.skipped.emplace_back(item, item.as_string());
    rules.skipped_texts.push_back(item.as_string());
  }
}

void read_kv_cache(const Node& map, QuantizationRules& rules) {
  const Node* node = present(map, "kv_cache_quant_algo");
  if (node == nullptr) node = present(map, "kv_cache_scheme");
  if (node == nullptr) return;
  if (node->is_map()) {
    const Node& bits = node->at("num_bits");
    if (bits.as_int() != 8 && bits.as_int() != 4) bits.fail("expected 4 or 8 bits");
    rules.kv_cache = bits.as_int() == 8 ? KvFormat::kFp8 : KvFormat::kNvfp4;
    return;
  }
  const std::string& text = node->as_string();
  if (text == "FP8" || text == "INT8") {
    rules.kv_cache = KvFormat::kFp8;
  } else if (text == "NVFP4") {
    rules.kv_cache = KvFormat::kNvfp4;
  } else {
    node->fail(fmt::format("expected FP8, INT8 or NVFP4, got '{}'", text));
  }
}

QuantizationRules read_quantization_rules(const Node& map) {
  if (!map.is_map()) map.fail("expected a map with quant_method");
  QuantizationRules rules;
  const Node* method = present(map, "quant_method");
  if (method == nullptr) {
    if (present(map, "quant_algo") == nullptr) map.fail("'quant_method' is missing");
    rules.method = "modelopt";
    read_modelopt(map, rules);
  } else {
    rules.method = method->as_string();
    const auto found = std::find_if(kMethods.begin(), kMethods.end(),
                                    [&](const Method& m) { return m.name == rules.method; });
    if (found == kMethods.end()) {
      std::vector<std::string> known;
      for (const Method& m : kMethods) known.emplace_back(m.name);
      method->fail(fmt::format("quantisation '{}' is not supported{}; expected one of {}",
                               rules.method, did_you_mean(rules.method, known),
                               fmt::join(known, ", ")));
    }
    found->read(map, rules);
  }
  read_kv_cache(map, rules);
  check_sizes(map, rules);
  return rules;
}

}  // namespace orrery
