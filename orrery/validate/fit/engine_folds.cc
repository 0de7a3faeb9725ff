#include "orrery/validate/fit/engine_folds.h"

#include <fmt/format.h>

#include "orrery/network/fit/joined_texts.h"

namespace orrery {

std::optional<Bundle> bundle_without_group(const Bundle& bundle, const std::string& engine,
                                           const std::string& group) {
  const auto file = bundle.find(fmt::format("engines/group-folds/{}.yaml", engine));
  if (!file) return {};
  const auto folds = split_texts(file->content);
  const auto found = folds.find(group);
  if (found == folds.end()) return {};
  constexpr const char* kFitted = "engines/fitted";
  const std::string own = fmt::format("{}/{}.yaml", kFitted, engine);
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list(kFitted, ".yaml")) {
    // Files of the engine on one family of GPUs hold constants that saw the group too. (Those of
    // another engine whose name begins alike are left out as well; nothing asks for them.)
    if (!path.starts_with(fmt::format("{}/{}-", kFitted, engine)))
      files[path] = bundle.find(path)->content;
  }
  files[own] = found->second;
  return bundle.replacing(kFitted, std::move(files));
}

}  // namespace orrery
