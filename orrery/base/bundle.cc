#include "orrery/base/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Only names below the folder: an id that a user typed must not lead out of it.
bool leads_out(const fs::path& path) {
  return path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

}  // namespace

Bundle::Bundle(fs::path overlay) : overlay_(std::move(overlay)) {
  std::error_code error;
  if (!overlay_.empty() && !fs::is_directory(overlay_, error)) {
    throw InputError(fmt::format("{}: no such directory", overlay_.string()));
  }
}

Bundle Bundle::replacing(std::string folder, std::map<std::string, std::string> files) const {
  auto replacement = std::make_shared<Replacement>();
  replacement->prefix = std::move(folder) + "/";
  replacement->files = {files.begin(), files.end()};
  Bundle bundle = *this;
  bundle.replacements_.insert(bundle.replacements_.begin(), std::move(replacement));
  return bundle;
}

std::optional<Bundle::File> Bundle::find(std::string_view path) const {
  if (leads_out(path)) return std::nullopt;
  for (const auto& replaced : replacements_) {
    if (!path.starts_with(replaced->prefix)) continue;
    const auto at = replaced->files.find(path);
    if (at == replaced->files.end()) return std::nullopt;
    return File{at->first, at->second, std::shared_ptr<const std::string>(replaced, &at->second)};
  }
  std::error_code error;
  if (const fs::path real = overlay_ / path;
      !overlay_.empty() && fs::is_regular_file(real, error)) {
    auto text = std::make_shared<const std::string>(read_fact_file(real));
    const std::string_view content = *text;
    return File{real.string(), content, std::move(text)};
  }
  const auto files = bundled_files();
  const auto at =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const BundledFile& f, std::string_view p) { return f.path < p; });
  if (at == files.end() || at->path != path) return std::nullopt;
  const std::string name(path);
  return File{path.starts_with("scenarios/") ? name : "catalog/" + name, at->content, nullptr};
}

std::vector<std::string> Bundle::list(std::string_view folder, std::string_view ending) const {
  std::vector<std::string> paths;
  const std::string prefix = std::string(folder) + "/";
  for (const auto& replaced : replacements_) {
    if (!prefix.starts_with(replaced->prefix)) continue;
    for (const auto& [path, text] : replaced->files) {
      if (path.starts_with(prefix) && path.ends_with(ending)) paths.push_back(path);
    }
    return paths;
  }
  for (const BundledFile& f : bundled_files()) {
    if (f.path.starts_with(prefix) && f.path.ends_with(ending)) paths.emplace_back(f.path);
  }
  std::error_code error;
  const fs::path root = overlay_ / folder;
  if (!overlay_.empty() && !leads_out(folder) && fs::is_directory(root, error)) {
    using Walk = fs::recursive_directory_iterator;
    for (Walk at(root, fs::directory_options::skip_permission_denied), end; at != end; ++at) {
      const std::string path = prefix + at->path().lexically_relative(root).generic_string();
      if (at->is_regular_file(error) && path.ends_with(ending)) paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace orrery
