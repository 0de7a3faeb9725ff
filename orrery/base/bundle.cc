#include "orrery/base/bundle.h"

#include <algorithm>

#include "orrery/base/node.h"

namespace orrery {

std::optional<Bundle::File> Bundle::find(std::string_view path) const {
  if (!overlay_.empty()) {
    const std::filesystem::path real = overlay_ / path;
    if (std::filesystem::is_regular_file(real)) {
      auto text = std::make_shared<const std::string>(read_text_file(real));
      const std::string_view content = *text;
      return File{real.string(), content, std::move(text)};
    }
  }
  const auto files = bundled_files();
  const auto at = std::lower_bound(files.begin(), files.end(), path,
                                   [](const BundledFile& f, std::string_view p) { return f.path < p; });
  if (at == files.end() || at->path != path) return std::nullopt;
  return File{"catalog/" + std::string(path), at->content, nullptr};
}

std::vector<std::string> Bundle::list(std::string_view folder, std::string_view ending) const {
  std::vector<std::string> paths;
  const std::string prefix = std::string(folder) + "/";
  for (const BundledFile& f : bundled_files()) {
    if (f.path.starts_with(prefix) && f.path.ends_with(ending)) paths.emplace_back(f.path);
  }
  const std::filesystem::path root = overlay_ / folder;
  if (!overlay_.empty() && std::filesystem::is_directory(root)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string path = prefix + entry.path().lexically_relative(root).generic_string();
      if (entry.is_regular_file() && path.ends_with(ending)) paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace orrery
