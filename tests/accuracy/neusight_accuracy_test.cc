// Errors on NeuSight's labels of inference and training, composed op by op, compared with the
// errors of NeuSight's predictions of the same rows. Skipped where the tables are absent.
#include "orrery/base/data_folder.h"
#include "orrery/validate/judge/neusight.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "orrery/base/error_summary.h"

namespace orrery {
namespace neusight_accuracy_test {

TEST(NeusightAccuracy, EveryDeviceIsBelowNeusightsError) {
  const std::filesystem::path data = data_folder() / "training";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_neusight(data, "", Bundle());
  // A label that both predict has two rows, Orrery's first.
  std::map<std::string, std::vector<const ValidationRow*>> ours, theirs;
  for (std::size_t i = 1; i < report.rows.size(); ++i) {
    const ValidationRow &first = report.rows[i - 1], &second = report.rows[i];
    if (first.row != second.row) continue;
    ours[first.by.at("device")].push_back(&first);
    theirs[second.by.at("device")].push_back(&second);
  }
  EXPECT_GE(ours.size(), 9u);
  for (const auto& [device, rows] : ours) {
    const double mine = summarise(rows).mape, other = summarise(theirs.at(device)).mape;
    fmt::print("{}: {} rows, {:.1f} %, NeuSight {:.1f} %\n", device, rows.size(), mine, other);
    EXPECT_LT(mine, other) << device;
  }
}

}  // namespace neusight_accuracy_test
}  // namespace orrery
