// quantization_config of a checkpoint, in the spellings of the tools that write it.
#include <fmt/format.h>

#include "orrery/model/hf_fields.h"

namespace orrery {
namespace {

constexpr int kMostGroup = 1 << 20;

// group_size -1 means one scale a channel.
int read_group(const Node& map, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Node* node = map.find(name);
    if (node == nullptr || node->is_null()) continue;
    const std::int64_t v = node->as_int();
    if (v == -1) return 0;
    if (v < 1 || v > kMostGroup) node->fail(fmt::format("expected -1 or a group size, got {}", v));
    return static_cast<int>(v);
  }
  return 0;
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

void read_blocks(const Node& map, CheckpointQuantization& q) {
  const Node* block = map.find("weight_block_size");
  if (block == nullptr || block->is_null()) return;
  if (!block->is_list() || block->items().size() != 2) block->fail("expected [rows, columns]");
  const auto side = [](const Node& n) {
    const std::int64_t v = n.as_int();
    if (v < 1 || v > kMostGroup) n.fail(fmt::format("expected a positive block size, got {}", v));
    return static_cast<int>(v);
  };
  q.block_rows = side(block->items()[0]);
  q.block_columns = side(block->items()[1]);
}

// compressed-tensors: the first group of weights is taken as that of all layers.
void read_compressed_tensors(const Node& map, CheckpointQuantization& q) {
  const Node& groups = map.at("config_groups");
  if (!groups.is_map() || groups.items().empty()) groups.fail("expected at least one group");
  const Node& group = groups.items().front();
  const Node& weights = group.at("weights");
  const Node& bits = weights.at("num_bits");
  if (weights.at("type").as_string() == "float") {
    const std::int64_t v = bits.as_int();
    if (v != 8 && v != 4) bits.fail(fmt::format("expected 4 or 8 bits, got {}", v));
    q.format = v == 8 ? WeightFormat::kFp8 : WeightFormat::kNvfp4;
  } else {
    q.format = integer_format(bits);
  }
  q.group = read_group(weights, {"group_size"});
  const Node* inputs = group.find("input_activations");
  q.weights_only = inputs == nullptr || inputs->is_null();
}

void read_modelopt(const Node& map, CheckpointQuantization& q) {
  const Node& algorithm = map.at("quant_algo");
  if (algorithm.as_string() == "FP8") {
    q.format = WeightFormat::kFp8;
  } else if (algorithm.text() == "NVFP4") {
    q.format = WeightFormat::kNvfp4;
    q.group = 16;
  } else {
    algorithm.fail(fmt::format("expected FP8 or NVFP4, got '{}'", algorithm.text()));
  }
}

}  // namespace

CheckpointQuantization read_quantization(const HfConfig& c) {
  CheckpointQuantization q;
  const Node* map = c.find({"quantization_config"});
  if (map == nullptr) return q;
  const Node& method = map->at("quant_method");
  q.method = method.as_string();
  if (q.method == "fp8" || q.method == "fbgemm_fp8") {
    q.format = WeightFormat::kFp8;
    read_blocks(*map, q);
  } else if (q.method == "gptq" || q.method == "awq") {
    q.format = integer_format(first_of(*map, "bits", "w_bit"));
    q.group = read_group(*map, {"group_size", "q_group_size"});
    q.weights_only = true;
  } else if (q.method == "mxfp4") {
    q.format = WeightFormat::kMxfp4;
    q.group = 32;
    q.weights_only = true;
  } else if (q.method == "compressed-tensors") {
    read_compressed_tensors(*map, q);
  } else if (q.method == "modelopt") {
    read_modelopt(*map, q);
  } else {
    static const std::vector<std::string> kMethods = {
        "fp8", "fbgemm_fp8", "gptq", "awq", "mxfp4", "compressed-tensors", "modelopt"};
    method.fail(fmt::format("quantisation '{}' is not supported{}; expected one of {}", q.method,
                            did_you_mean(q.method, kMethods), fmt::join(kMethods, ", ")));
  }
  for (const std::string_view name :
       {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"}) {
    const Node* skipped = map->find(name);
    if (skipped == nullptr || !skipped->is_list()) continue;
    for (const Node& item : skipped->items()) q.skipped.push_back(item.as_string());
  }
  return q;
}

}  // namespace orrery
