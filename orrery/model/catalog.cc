#include "orrery/model/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/node.h"
#include "orrery/model/hf_config.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "models";
constexpr std::string_view kIndex = "models/index.json";
constexpr std::string_view kEnding = ".json";

std::optional<std::int64_t> optional_count(const Node& entry, std::string_view key) {
  const Node* node = entry.find(key);
  if (node == nullptr) return std::nullopt;
  return node->as_int();
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
  const Node* without = map.find("active_without_embedding");
  e.active_without_embedding = without != nullptr && without->as_bool();
  e.source = optional_text(map, "source");
  e.note = optional_text(map, "note");
  return e;
}

std::optional<Architecture> load_bundled(const std::string& id, const Bundle& bundle) {
  const std::string path = fmt::format("{}/{}{}", kFolder, id, kEnding);
  if (path == kIndex) return std::nullopt;
  const auto file = bundle.find(path);
  if (!file) return std::nullopt;
  return read_hf_config(parse_json(file->content, file->name), id);
}

bool is_path(std::string_view name) {
  if (name.ends_with(kEnding) || name.starts_with('/') || name.starts_with("./") ||
      name.starts_with("../")) {
    return true;
  }
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(name), error);
}

Architecture load_file(std::filesystem::path path, const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= "config.json";
  return read_hf_config(parse_json(read_text_file(path), path.string()), name);
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

std::vector<std::string> model_ids(const Bundle& bundle) {
  std::vector<std::string> ids;
  for (const std::string& path : bundle.list(kFolder, kEnding)) {
    if (path == kIndex) continue;
    ids.push_back(std::filesystem::path(path).stem().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Architecture load_model(std::string_view name, const Bundle& bundle) {
  const std::string wanted = canonical_name(name);
  if (wanted.find('/') == std::string::npos) {
    if (auto model = load_bundled(wanted, bundle)) return *std::move(model);
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
  throw InputError(fmt::format(
      "unknown model '{}'{}; give a bundled id (orrery list models), a Hugging Face id or the path "
      "of a config.json",
      name, did_you_mean(name, known)));
}

}  // namespace orrery
