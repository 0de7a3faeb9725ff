// Measured memory of training jobs, each predicted by a fit without its source; skipped where the
// tables are absent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/judge/training_memory.h"

namespace orrery {
namespace training_memory_accuracy_test {

TEST(TrainingMemoryAccuracy, SourcesLeftOut) {
  const std::filesystem::path data = data_folder() / "training";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  std::vector<const ValidationRow*> rows;
  const ValidationReport report = validate_training_memory(data, "training_memory", Bundle());
  for (const ValidationRow& r : report.rows) rows.push_back(&r);
  const ErrorSummary s = summarise(rows);
  fmt::print("described rows {}: median {:.1f} %, MAPE {:.1f} %, bias {:+.1f} %, inside 90 %: {}\n",
             s.n, s.median, s.mape, s.bias, s.coverage90);
  EXPECT_GT(s.n, 120u);
  EXPECT_LE(s.median, 6.5);
  EXPECT_LE(s.mape, 11);
  EXPECT_GE(s.coverage90, 88);

  std::vector<RefusedRow> refused;
  const auto all = read_training_memory(data, Bundle(), refused);
  const FitChances c = fit_chances(all, leave_sources_out(all));
  fmt::print("out of memory: {} of {} recognised; ran: {} of {} refused; Brier {:.3f}\n",
             c.recognised, c.ran_out, c.refused, c.ran, c.brier);
  EXPECT_GE(c.recognised, 0.8 * c.ran_out);
  EXPECT_LE(c.refused, 0.03 * c.ran);
  EXPECT_LE(c.brier, 0.045);
}

}  // namespace training_memory_accuracy_test
}  // namespace orrery
