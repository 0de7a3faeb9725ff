#include "apps/cli/flags/scenario_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "orrery/base/error.h"

namespace orrery::cli {

std::vector<std::string> scenario_files(const std::vector<std::string>& given) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : given) {
    std::error_code error;
    if (!fs::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(name)) {
      const std::string ending = entry.path().extension().string();
      const bool scenario = ending == ".yaml" || ending == ".yml" || ending == ".json";
      if (scenario && entry.is_regular_file(error)) found.push_back(entry.path().string());
    }
    if (found.empty())
      throw InputError(fmt::format("{}: no scenario files (*.yaml, *.yml, *.json)", name));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace orrery::cli
