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

constexpr std::array kFamilies = {
#define FAMILY(architecture, model_type, read) Family{architecture, model_type, read},
#include "orrery/model/families/families.def"
#undef FAMILY
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
