#include "apps/cli/flags/question_flags.h"

#include <algorithm>

namespace orrery::cli {

void print(const Answer& answer, const ScenarioSweep& asked, const OutputOptions& options,
           std::span<const std::string_view> columns, void (*table)(const Answer&)) {
  const bool shown = std::all_of(asked.keys.begin(), asked.keys.end(), [&](const auto& key) {
    return std::find(columns.begin(), columns.end(), key.path) != columns.end();
  });
  if (options.format != Format::kTable || !shown) return print({&answer, 1}, options);
  write_pages({&answer, 1}, options);
  table(answer);
}

}  // namespace orrery::cli
