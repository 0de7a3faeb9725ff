#include "orrery/model/catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/base/node.h"
#include "orrery/model/families/hf_config.h"
#include "orrery/model/families/hf_fields.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "models";
constexpr std::string_view kIndex = "models/index.json";
constexpr std::string_view kVariants = "models/variants.json";
constexpr std::string_view kEnding = ".json";

std::optional<std::int64_t> optional_count(const Node& entry, std::string_view key) {
  const Node* node = entry.find(key);
  if (node == nullptr) return std::nullopt;
  return node->as_int();
}

bool optional_flag(const Node& entry, std::string_view key) {
  const Node* node = entry.find(key);
  return node != nullptr && node->as_bool();
}

std::string optional_text(const Node& entry, std::string_view key) {
  const Node* node = entry.find(key);
  return node == nullptr ? "" : node->as_string();
}

ModelEntry read_entry(const std::string& id, const Node& map) {
  ModelEntry e;
  e.id = id;
  for (const Node& alias : map.at("aliases").items()) e.aliases.push_back(alias.as_string());
  e.published_total = optional_count(map, "total");
  e.published_active = optional_count(map, "active");
  e.active_without_embedding = optional_flag(map, "active_without_embedding");
  e.active_without_lm_head = optional_flag(map, "active_without_lm_head");
  e.total_without_towers = optional_flag(map, "total_without_towers");
  e.source = optional_text(map, "source");
  e.note = optional_text(map, "note");
  return e;
}

bool is_list(std::string_view path) { return path == kIndex || path == kVariants; }

std::optional<Node> bundled_config(const std::string& id, const Bundle& bundle) {
  const std::string path = fmt::format("{}/{}{}", kFolder, id, kEnding);
  if (is_list(path)) return std::nullopt;
  const auto file = bundle.find(path);
  if (!file) return std::nullopt;
  return parse_json(file->content, file->name);
}

std::optional<Architecture> load_bundled(const std::string& id, const Bundle& bundle) {
  const auto config = bundled_config(id, bundle);
  if (!config) return std::nullopt;
  return read_hf_config(*config, id);
}

std::optional<Node> variants_of(const Bundle& bundle) {
  const auto file = bundle.find(kVariants);
  if (!file) return std::nullopt;
  return parse_json(file->content, file->name);
}

bool is_called(const std::string& id, const Node& entry, std::string_view wanted) {
  if (id == wanted) return true;
  for (const Node& alias : entry.at("aliases").items()) {
    if (canonical_name(alias.as_string()) == wanted) return true;
  }
  return false;
}

// The config of the model that the variant is of, with the variant's quantisation in place of the
// model's, which may stand at the root or with the text model.
Architecture load_variant(const std::string& id, const Node& variant, const Bundle& bundle) {
  const Node& of = variant.at("of");
  const auto model = bundled_config(of.as_string(), bundle);
  if (!model) of.fail(fmt::format("there is no model '{}'", of.text()));
  constexpr std::string_view kKey = "quantization_config";
  Node config = without(without(*model, kKey), fmt::format("text_config.{}", kKey));
  set_path(config, kKey, variant.at(kKey));
  if (const Node* other = variant.find("config")) {
    for (std::size_t i = 0; i < other->keys().size(); ++i)
      set_path(config, other->keys()[i], other->items()[i]);
  }
  return read_hf_config(config, id);
}

bool is_path(std::string_view name) {
  if (name.ends_with(kEnding) || name.starts_with('/') || name.starts_with("./") ||
      name.starts_with("../")) {
    return true;
  }
  std::error_code error;
  return !files_are_sealed() && std::filesystem::exists(std::filesystem::path(name), error);
}

constexpr std::string_view kConfig = "config.json", kBeside = "hf_quant_config.json";

// ModelOpt's hf_quant_config.json beside a config.json, or x_hf_quant_config.json beside
// x_config.json: its map becomes the quantization_config of a config that has none, and the format
// of its KV cache that of a config that names none.
void add_quantization_beside(const std::filesystem::path& path, Node& config) {
  constexpr std::string_view kKey = "quantization_config", kCache = "kv_cache_quant_algo";
  std::string name = path.filename().string();
  if (!name.ends_with(kConfig) || name.ends_with(kBeside) || !config.is_map()) return;
  name.replace(name.size() - kConfig.size(), kConfig.size(), kBeside);
  const std::filesystem::path beside = path.parent_path() / name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(beside, error)) return;
  const Node root = parse_json(read_text_file(beside), beside.string());
  const Node& map = root.find("quantization") != nullptr ? root.at("quantization") : root;
  if (!map.is_map()) map.fail("expected a map with quant_algo");
  const Node* own = HfConfig(config).find({kKey});
  if (own == nullptr) return set_path(config, kKey, map);
  const Node* cache = map.find(kCache);
  if (cache == nullptr || cache->is_null() || own->find(kCache) != nullptr) return;
  if (own->find("kv_cache_scheme") != nullptr || config.find(kKey) != own) return;
  set_path(config, fmt::format("{}.{}", kKey, kCache), *cache);
}

Architecture load_file(std::filesystem::path path, const std::string& name) {
  require_open_files(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= kConfig;
  // The quantisation of a model names it: the config beside it is read.
  std::string file = path.filename().string();
  if (file.ends_with(kBeside)) {
    file.replace(file.size() - kBeside.size(), kBeside.size(), kConfig);
    path.replace_filename(file);
  }
  Node config = parse_json(read_text_file(path), path.string());
  add_quantization_beside(path, config);
  return read_hf_config(config, name);
}

}  // namespace

std::vector<ModelEntry> model_index(const Bundle& bundle) {
  std::vector<ModelEntry> out;
  const auto file = bundle.find(kIndex);
  if (!file) return out;
  const Node index = parse_json(file->content, file->name);
  for (std::size_t i = 0; i < index.keys().size(); ++i) {
    out.push_back(read_entry(index.keys()[i], index.items()[i]));
  }
  std::sort(out.begin(), out.end(),
            [](const ModelEntry& a, const ModelEntry& b) { return a.id < b.id; });
  return out;
}

std::vector<ModelVariant> model_variants(const Bundle& bundle) {
  std::vector<ModelVariant> out;
  const auto variants = variants_of(bundle);
  if (!variants) return out;
  for (std::size_t i = 0; i < variants->keys().size(); ++i) {
    const Node& map = variants->items()[i];
    const Node& of = map.at("of");
    ModelVariant v{variants->keys()[i], of.as_string(), {}, optional_text(map, "note")};
    if (!v.id.starts_with(v.of + "-")) {
      map.fail(fmt::format("the id of a variant of '{}' begins with '{}-'", v.of, v.of));
    }
    if (!bundle.find(fmt::format("{}/{}{}", kFolder, v.of, kEnding))) {
      of.fail(fmt::format("there is no model '{}'", v.of));
    }
    for (const Node& alias : map.at("aliases").items()) v.aliases.push_back(alias.as_string());
    out.push_back(std::move(v));
  }
  std::sort(out.begin(), out.end(),
            [](const ModelVariant& a, const ModelVariant& b) { return a.id < b.id; });
  return out;
}

std::vector<std::string> model_ids(const Bundle& bundle) {
  std::vector<std::string> ids;
  for (const std::string& path : bundle.list(kFolder, kEnding)) {
    if (is_list(path)) continue;
    ids.push_back(std::filesystem::path(path).stem().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Architecture load_model(std::string_view name, const Bundle& bundle) {
  if (name.starts_with('{'))
    return read_hf_config(parse_json(name, "model"), "given by its config");
  const std::string wanted = canonical_name(name);
  if (wanted.find('/') == std::string::npos) {
    if (auto model = load_bundled(wanted, bundle)) return *std::move(model);
  }
  if (const auto variants = variants_of(bundle)) {
    for (std::size_t i = 0; i < variants->keys().size(); ++i) {
      const std::string& id = variants->keys()[i];
      if (is_called(id, variants->items()[i], wanted))
        return load_variant(id, variants->items()[i], bundle);
    }
  }
  const std::vector<ModelEntry> index = model_index(bundle);
  for (const ModelEntry& entry : index) {
    for (const std::string& alias : entry.aliases) {
      if (canonical_name(alias) != wanted) continue;
      if (auto model = load_bundled(entry.id, bundle)) return *std::move(model);
    }
  }
  if (is_path(name)) return load_file(std::filesystem::path(name), std::string(name));

  std::vector<std::string> known = model_ids(bundle);
  for (const ModelEntry& entry : index) {
    known.insert(known.end(), entry.aliases.begin(), entry.aliases.end());
  }
  for (const ModelVariant& variant : model_variants(bundle)) {
    known.push_back(variant.id);
    known.insert(known.end(), variant.aliases.begin(), variant.aliases.end());
  }
  throw InputError(fmt::format(
      "unknown model '{}'{}; give a bundled id (orrery list models), a Hugging Face id or the path "
      "of a config.json",
      name, did_you_mean(name, known)));
}

}  // namespace orrery
