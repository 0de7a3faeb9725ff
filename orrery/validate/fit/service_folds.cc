#include "orrery/validate/fit/service_folds.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

constexpr std::string_view kDocument = "--- # ";
constexpr const char* kFitted = "engines/fitted";

}  // namespace

std::string service_fold_of(const MeasuredRow& row) {
  return row.keys.text("model") + " on " + row.system;
}

std::string service_folds_text(const std::map<std::string, std::string>& folds) {
  std::string out;
  for (const auto& [name, document] : folds)
    out += fmt::format("{}{}\n{}", kDocument, name, document);
  return out;
}

std::map<std::string, std::string> parse_service_folds(std::string_view text) {
  std::map<std::string, std::string> folds;
  std::string* document = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kDocument)) {
      document = &folds[std::string(line.substr(kDocument.size()))];
    } else if (document) {
      *document += fmt::format("{}\n", line);
    }
  }
  return folds;
}

std::optional<Bundle> bundle_without(const Bundle& bundle, const std::string& engine,
                                     const std::string& gpu_class, const std::string& fold) {
  const auto file = bundle.find(fmt::format("engines/folds/{}-{}.yaml", engine, gpu_class));
  if (!file) return {};
  const auto folds = parse_service_folds(file->content);
  const auto found = folds.find(fold);
  if (found == folds.end()) return {};
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list(kFitted, ".yaml"))
    files[path] = bundle.find(path)->content;
  files[fmt::format("{}/{}-{}.yaml", kFitted, engine, gpu_class)] = found->second;
  return bundle.replacing(kFitted, std::move(files));
}

}  // namespace orrery
