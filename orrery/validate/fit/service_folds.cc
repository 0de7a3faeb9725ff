#include "orrery/validate/fit/service_folds.h"

#include <fmt/format.h>

#include "orrery/network/fit/joined_texts.h"

namespace orrery {
namespace {

constexpr const char* kFitted = "engines/fitted";

}  // namespace

std::string service_fold_of(const MeasuredRow& row) {
  return row.keys.text("model") + " on " + row.system;
}

std::optional<Bundle> bundle_without(const Bundle& bundle, const std::string& engine,
                                     const std::string& gpu_class, const std::string& fold) {
  const auto file = bundle.find(fmt::format("engines/folds/{}-{}.yaml", engine, gpu_class));
  if (!file) return {};
  const auto folds = split_texts(file->content);
  const auto found = folds.find(fold);
  if (found == folds.end()) return {};
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list(kFitted, ".yaml"))
    files[path] = bundle.find(path)->content;
  files[fmt::format("{}/{}-{}.yaml", kFitted, engine, gpu_class)] = found->second;
  return bundle.replacing(kFitted, std::move(files));
}

}  // namespace orrery
