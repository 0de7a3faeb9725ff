#include "apps/cli/facts/measured_tables.h"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"

namespace orrery::cli {

std::string measured_tables(const std::string& folder) {
  const std::filesystem::path all = data_folder();
  const std::filesystem::path path = folder.empty() ? all : all / folder;
  if (!std::filesystem::is_directory(path)) {
    throw InputError(
        fmt::format("{}: no measured tables there; name their folder with --data, or the folder "
                    "above all of them with ORRERY_DATA (docs/data.md)",
                    path.string()));
  }
  return path.string();
}

}  // namespace orrery::cli
