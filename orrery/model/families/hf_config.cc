#include "orrery/model/families/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/base/node_builder.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

struct Family {
  std::string_view architecture;  // of `architectures`
  std::string_view model_type;
  Architecture (*read)(const HfConfig&);
};

// Sorted by architecture. Where several share a model_type, their readers are the same.
constexpr std::array kFamilies = {
    Family{"AquilaForCausalLM", "aquila", read_llama},
    Family{"AquilaModel", "aquila", read_llama},
    Family{"ArceeForCausalLM", "arcee", read_arcee},
    Family{"BailingMoeV2ForCausalLM", "bailing_moe", read_bailing_moe_v2},
    Family{"BertForMaskedLM", "bert", read_bert},
    Family{"BertForPreTraining", "bert", read_bert},
    Family{"BertModel", "bert", read_bert},
    Family{"BloomForCausalLM", "bloom", read_bloom},
    Family{"BloomModel", "bloom", read_bloom},
    Family{"CohereForCausalLM", "cohere", read_cohere},
    Family{"DeciLMForCausalLM", "deci", read_decilm},
    Family{"DeciLMForCausalLM", "nemotron-nas", read_decilm},
    Family{"DeepseekV2ForCausalLM", "deepseek_v2", read_deepseek_v2},
    Family{"DeepseekV32ForCausalLM", "deepseek_v32", read_deepseek_v3},
    Family{"DeepseekV3ForCausalLM", "deepseek_v3", read_deepseek_v3},
    Family{"DeepseekV4ForCausalLM", "deepseek_v4", read_deepseek_v4},
    Family{"Dots1ForCausalLM", "dots1", read_dots1},
    Family{"Ernie4_5ForCausalLM", "ernie4_5", read_ernie},
    Family{"Ernie4_5_MoeForCausalLM", "ernie4_5_moe", read_ernie},
    Family{"Exaone4ForCausalLM", "exaone4", read_exaone4},
    Family{"FalconForCausalLM", "falcon", read_falcon},
    Family{"GPT2LMHeadModel", "gpt2", read_gpt2},
    Family{"GPTJForCausalLM", "gptj", read_gptj},
    Family{"GPTNeoXForCausalLM", "gpt_neox", read_gpt_neox},
    Family{"Gemma2ForCausalLM", "gemma2", read_gemma2},
    Family{"Gemma3ForCausalLM", "gemma3_text", read_gemma3},
    Family{"Gemma3ForConditionalGeneration", "gemma3", read_gemma3},
    Family{"Gemma4ForCausalLM", "gemma4_text", read_gemma4},
    Family{"Gemma4ForConditionalGeneration", "gemma4", read_gemma4},
    Family{"GemmaForCausalLM", "gemma", read_gemma},
    Family{"Glm4ForCausalLM", "glm4", read_glm4},
    Family{"Glm4MoeForCausalLM", "glm4_moe", read_glm4_moe},
    Family{"Glm4MoeLiteForCausalLM", "glm4_moe_lite", read_deepseek_v3},
    Family{"GlmMoeDsaForCausalLM", "glm_moe_dsa", read_deepseek_v3},
    Family{"GptOssForCausalLM", "gpt_oss", read_gpt_oss},
    Family{"GraniteForCausalLM", "granite", read_llama},
    Family{"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_granite_hybrid},
    Family{"HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", read_qwen3},
    Family{"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", read_hunyuan_moe},
    Family{"InternLM2ForCausalLM", "internlm2", read_internlm},
    Family{"InternLMForCausalLM", "internlm", read_internlm},
    Family{"KimiK25ForConditionalGeneration", "kimi_k25", read_deepseek_v3},
    Family{"KimiK2ForCausalLM", "kimi_k2", read_deepseek_v3},
    Family{"KimiK3ForConditionalGeneration", "kimi_k3", read_kimi_linear},
    Family{"KimiLinearForCausalLM", "kimi_linear", read_kimi_linear},
    Family{"Llama4ForCausalLM", "llama4_text", read_llama4},
    Family{"Llama4ForConditionalGeneration", "llama4", read_llama4},
    Family{"LlamaForCausalLM", "llama", read_llama},
    Family{"MPTForCausalLM", "mpt", read_mpt},
    Family{"MiMoForCausalLM", "mimo", read_mimo},
    Family{"MiMoV2FlashForCausalLM", "mimo_v2_flash", read_mimo_v2},
    Family{"MiMoV2ForCausalLM", "mimo_v2", read_mimo_v2},
    Family{"MiniMaxM2ForCausalLM", "minimax_m2", read_minimax_m2},
    Family{"MiniMaxM3ForCausalLM", "minimax_m3", read_minimax_m3},
    Family{"MiniMaxM3SparseForCausalLM", "minimax_m3", read_minimax_m3},
    Family{"MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl", read_minimax_m3},
    Family{"Ministral3ForCausalLM", "ministral3", read_mistral},
    Family{"Mistral3ForConditionalGeneration", "mistral3", read_mistral},
    Family{"MistralForCausalLM", "mistral", read_mistral},
    Family{"MixtralForCausalLM", "mixtral", read_mixtral},
    Family{"MptForCausalLM", "mpt", read_mpt},
    Family{"NemotronForCausalLM", "nemotron", read_nemotron},
    Family{"NemotronHForCausalLM", "nemotron_h", read_nemotron_h},
    Family{"NemotronHPuzzleForCausalLM", "nemotron_h_puzzle", read_nemotron_h},
    Family{"OPTForCausalLM", "opt", read_opt},
    Family{"Olmo2ForCausalLM", "olmo2", read_olmo2},
    Family{"Olmo3ForCausalLM", "olmo3", read_olmo2},
    Family{"Phi3ForCausalLM", "phi3", read_phi3},
    Family{"PhiForCausalLM", "phi", read_phi},
    Family{"QWenLMHeadModel", "qwen", read_qwen},
    Family{"Qwen2ForCausalLM", "qwen2", read_qwen2},
    Family{"Qwen2MoeForCausalLM", "qwen2_moe", read_qwen2_moe},
    Family{"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", read_qwen2},
    Family{"Qwen3ForCausalLM", "qwen3", read_qwen3},
    Family{"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3_moe},
    Family{"Qwen3NextForCausalLM", "qwen3_next", read_qwen3_next},
    Family{"Qwen3VLForConditionalGeneration", "qwen3_vl", read_qwen3},
    Family{"Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", read_qwen3_moe},
    Family{"Qwen3_5ForCausalLM", "qwen3_5_text", read_qwen3_next},
    Family{"Qwen3_5ForConditionalGeneration", "qwen3_5", read_qwen3_next},
    Family{"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", read_qwen3_next},
    Family{"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen3_next},
    Family{"RWForCausalLM", "RefinedWeb", read_falcon},
    Family{"RWForCausalLM", "RefinedWebModel", read_falcon},
    Family{"SeedOssForCausalLM", "seed_oss", read_seed_oss},
    Family{"SmolLM3ForCausalLM", "smollm3", read_smollm3},
    Family{"Starcoder2ForCausalLM", "starcoder2", read_starcoder2},
    Family{"Step3p5ForCausalLM", "step3p5", read_step3},
    Family{"Step3p7FlashForCausalLM", "step3p7", read_step3},
    Family{"Step3p7ForConditionalGeneration", "step3p7", read_step3},
    Family{"SwitchTransformersForConditionalGeneration", "switch_transformers", read_switch},
    Family{"T5ForConditionalGeneration", "t5", read_t5},
    Family{"T5WithLMHeadModel", "t5", read_t5},
};

std::vector<std::string> sorted_unique(std::string_view Family::* name) {
  std::vector<std::string> all;
  for (const Family& f : kFamilies) all.emplace_back(f.*name);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

const Family* find_family(std::string_view Family::* key, const std::string& name) {
  for (const Family& f : kFamilies) {
    if (f.*key == name) return &f;
  }
  return nullptr;
}

// architectures[0] of a map; nullptr if the key is absent.
const Node* architecture_of(const Node& map) {
  const Node* list = map.find("architectures");
  if (list == nullptr || list->is_null()) return nullptr;
  if (!list->is_list() || list->items().empty()) {
    list->fail("expected a list such as [\"LlamaForCausalLM\"]");
  }
  list->items().front().as_string();
  return &list->items().front();
}

const Node* type_of(const Node& map) {
  const Node* type = map.find("model_type");
  if (type == nullptr || type->is_null()) return nullptr;
  type->as_string();
  return type;
}

UnknownClass unknown_class(const Node& config) {
  const auto make = [](const Node& at, const char* what, std::span<const std::string> known) {
    std::string name = fmt::format("{} '{}'", what, shortened(at.text()));
    std::string message =
        fmt::format("{} is not supported{}", name, did_you_mean(at.text(), known));
    return UnknownClass{at, std::move(name), std::move(message)};
  };
  if (const Node* name = architecture_of(config)) {
    return make(*name, "architecture", supported_architectures());
  }
  if (const Node* type = type_of(config)) {
    return make(*type, "model type", sorted_unique(&Family::model_type));
  }
  config.fail("neither 'architectures' nor 'model_type' is given: not a Hugging Face model config");
}

// The family of the document, or of the text model that it wraps: a wrapper's own class is unknown,
// and its text model's class or model_type is known. nullptr if none is known.
const Family* family_of(const Node& config) {
  const std::vector<const Node*> maps = text_maps(config);
  for (const Node* map : maps) {
    const Node* name = architecture_of(*map);
    const Node* type = type_of(*map);
    // The document's own class decides; its model_type counts where there is no class, or where
    // there is no text model inside.
    if (name != nullptr) {
      if (const Family* f = find_family(&Family::architecture, name->text())) return f;
    }
    if (type != nullptr && (name == nullptr || map != maps.front())) {
      if (const Family* f = find_family(&Family::model_type, type->text())) return f;
    }
  }
  return nullptr;
}

// A model of an unknown class: by the reader of its model_type, where that is known, else by its
// fields.
Architecture read_unknown(const Node& config, const HfConfig& fields) {
  const UnknownClass unknown = unknown_class(config);
  const Node* type = nullptr;
  for (const Node* map : text_maps(config)) {
    if (type_of(*map) != nullptr) type = type_of(*map);
  }
  const Family* family = type != nullptr ? find_family(&Family::model_type, type->text()) : nullptr;
  Architecture model;
  if (family != nullptr) {
    model = family->read(fields);
    model.notes.push_back(fmt::format("{} has no reader of its own and was read as model type {}",
                                      unknown.name, family->model_type));
  } else {
    model = read_by_fields(fields, unknown);
  }
  model.family = type != nullptr ? type->text() : "unknown";
  return model;
}

}  // namespace

std::span<const std::string> supported_architectures() {
  static const std::vector<std::string> kNames = sorted_unique(&Family::architecture);
  return kNames;
}

Architecture read_hf_config(const Node& config, std::string id) {
  if (!config.is_map())
    config.fail("expected a JSON object with the keys of a Hugging Face config");
  const Family* family = family_of(config);
  const HfConfig fields = family == nullptr ? HfConfig::remembering(config) : HfConfig(config);
  Architecture model = family == nullptr ? read_unknown(config, fields) : family->read(fields);
  model.quantization = read_quantization(fields, model);
  if (model.quantization.kv_cache == KvFormat::kNvfp4) {
    model.notes.emplace_back(
        "the checkpoint asks for a KV cache in nvfp4, which is not modelled: fp8 is assumed");
  }
  if (family == nullptr) refuse_unread_fields(fields, unknown_class(config), model);
  model.id = std::move(id);
  if (family != nullptr) model.family = family->model_type;
  return model;
}

}  // namespace orrery
