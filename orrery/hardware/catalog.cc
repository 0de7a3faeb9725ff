#include "orrery/hardware/catalog.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::string_view kEnding = ".yaml";

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") ||
         name.ends_with(".yml") || name.ends_with(".json");
}

std::vector<std::string> ids(const Bundle& bundle, std::string_view folder) {
  std::vector<std::string> out = bundle.list(folder, kEnding);
  for (std::string& path : out) {
    path = path.substr(folder.size() + 1, path.size() - folder.size() - 1 - kEnding.size());
  }
  return out;
}

// The items of the line "aliases: [a, b]" in a file's text, found without parsing the rest.
std::vector<std::string> aliases(const Bundle::File& file) {
  constexpr std::string_view kKey = "aliases:";
  std::string_view text = file.content;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (!line.starts_with(kKey)) continue;
    const std::size_t open = line.find('['), close = line.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      throw InputError(fmt::format(
          "{}: aliases: expected a list on one line such as 'aliases: [h100, h100-80gb]'",
          file.name));
    }
    line = line.substr(open + 1, close - open - 1);
    std::vector<std::string> out;
    while (!line.empty()) {
      const std::size_t comma = line.find(',');
      std::string_view item = line.substr(0, comma);
      line = comma == std::string_view::npos ? "" : line.substr(comma + 1);
      constexpr std::string_view kAround = " \t\"'";
      const std::size_t first = item.find_first_not_of(kAround);
      if (first == std::string_view::npos) continue;
      item = item.substr(first, item.find_last_not_of(kAround) - first + 1);
      out.push_back(canonical_name(item));
    }
    return out;
  }
  return {};
}

Bundle::File must_find(const Bundle& bundle, const std::string& path) {
  if (auto file = bundle.find(path)) return *std::move(file);
  throw InputError(fmt::format("catalog/{}: cannot be read", path));
}

// The parsed document for `name`. `kind` is the word for it in messages: "GPU".
Node find_document(const Bundle& bundle, std::string_view folder, std::string_view kind,
                   std::string_view name) {
  if (is_path(name)) return read_document(std::string(name));
  const std::string wanted = canonical_name(name);
  auto parsed = [&](const Bundle::File& file, std::string_view id) {
    Node document = parse_yaml(file.content, file.name);
    if (const Node* given = document.find("id"); given && given->text() != id) {
      given->fail(fmt::format("expected '{}', the name of the file", id));
    }
    return document;
  };
  if (auto file = bundle.find(fmt::format("{}/{}{}", folder, wanted, kEnding))) {
    return parsed(*file, wanted);
  }
  const std::vector<std::string> known = ids(bundle, folder);
  std::vector<std::string> other_names;
  for (const std::string& id : known) {
    const Bundle::File file = must_find(bundle, fmt::format("{}/{}{}", folder, id, kEnding));
    for (std::string& alias : aliases(file)) {
      if (alias == wanted) return parsed(file, id);
      other_names.push_back(std::move(alias));
    }
  }
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = did_you_mean(name, other_names);
  if (hint.empty()) hint = fmt::format("; `orrery list {}` names all", folder);
  throw InputError(fmt::format("unknown {} '{}'{}", kind, name.substr(0, 60), hint));
}

// Where the architecture of a GPU file that was named by its path may be.
std::vector<std::filesystem::path> architecture_folders(std::string_view name) {
  if (!is_path(name)) return {};
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  return {folder / "architectures", folder / ".." / "architectures"};
}

}  // namespace

Gpu Catalog::gpu(std::string_view name) const {
  Gpu gpu = read_gpu(find_document(bundle_, "gpus", "GPU", name));
  gpu.architecture = find_architecture({gpu.architecture.id, gpu.vendor, gpu.sm_version}, bundle_,
                                       architecture_folders(name));
  return gpu;
}

Fabric Catalog::fabric(std::string_view name) const {
  return read_fabric(find_document(bundle_, "fabrics", "fabric", name));
}

NodeType Catalog::node_type(std::string_view name) const {
  return read_node_type(find_document(bundle_, "nodes", "node type", name));
}

std::vector<std::string> Catalog::gpu_ids() const { return ids(bundle_, "gpus"); }
std::vector<std::string> Catalog::fabric_ids() const { return ids(bundle_, "fabrics"); }
std::vector<std::string> Catalog::node_type_ids() const { return ids(bundle_, "nodes"); }

}  // namespace orrery
