// Readers of the quantisation of a checkpoint: quantization_config of a config.json in the
// spellings of the tools that write it, and ModelOpt's hf_quant_config.json.
//
//   fp8, fbgemm_fp8                        transformers; blocks where weight_block_size is given
//   gptq, awq, auto-round, bitsandbytes    weights only
//   mxfp4                                  the routed experts of gpt-oss
//   compressed-tensors                     config_groups, each with its targets
//   modelopt                               quant_algo; MIXED_PRECISION with quantized_layers
//   quark                                  global_quant_config and layer_quant_config
//
// InputError for other methods, formats that are not modelled, and lists of more than 50,000
// modules or 1,000 patterns that do not begin with a layer.
#pragma once

#include <initializer_list>
#include <string_view>

#include "orrery/base/node.h"
#include "orrery/model/checkpoint/quantization_rules.h"

namespace orrery {

// `map` is a quantization_config, or the "quantization" map of an hf_quant_config.json.
QuantizationRules read_quantization_rules(const Node& map);

// ---- modelopt.cc --------------------------------------------------------------------------------

// quant_algo of ModelOpt, such as FP8, NVFP4 or W4A16_NVFP4, with the group_size of the map.
StoredFormat modelopt_format(const Node& map);
// Fills the rules from quant_algo, quantized_layers, exclude_modules and ignore.
void read_modelopt(const Node& map, QuantizationRules& rules);
// Adds the modules of quantized_layers, if there are any.
void read_quantized_layers(const Node& map, QuantizationRules& rules);

// Fills the rules from config_groups and ignore of compressed-tensors.
void read_compressed_tensors(const Node& map, QuantizationRules& rules);

// ---- shared by the spellings --------------------------------------------------------------------

// Positive group_size under one of these names; 0 if absent, null or -1.
int read_group(const Node& map, std::initializer_list<std::string_view> names);
// Adds the modules of a list, which may be absent or null, to those that are skipped.
void read_skipped(const Node& map, std::string_view name, QuantizationRules& rules);
// Sets kv_cache from kv_cache_quant_algo or kv_cache_scheme.
void read_kv_cache(const Node& map, QuantizationRules& rules);

}  // namespace orrery
