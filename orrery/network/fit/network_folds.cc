#include "orrery/network/fit/network_folds.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/network/fit/joined_texts.h"

namespace orrery {
namespace {

constexpr const char* kFolder = "network";

}  // namespace

std::string NetworkGroup::name() const { return fmt::format("{} {} {}", fabric, gpu, library); }

std::string network_fold_path(const NetworkGroup& group) {
  std::string name = group.name();
  std::replace(name.begin(), name.end(), ' ', '_');
  return fmt::format("{}/folds/{}.txt", kFolder, name);
}

Bundle with_network_files(const Bundle& bundle, const std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> all;
  for (const std::string& path : bundle.list(kFolder, ".yaml"))
    all[path] = bundle.find(path)->content;
  for (const auto& [path, text] : files) {
    if (text.empty()) {
      all.erase(path);
    } else {
      all[path] = text;
    }
  }
  return bundle.replacing(kFolder, std::move(all));
}

std::optional<Bundle> bundle_without(const Bundle& bundle, const NetworkGroup& group) {
  const auto file = bundle.find(network_fold_path(group));
  if (!file) return {};
  return with_network_files(bundle, split_texts(file->content));
}

}  // namespace orrery
