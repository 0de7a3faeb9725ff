// Errors of the power of kernels, on shapes that the fit leaves out and on GPUs that it never saw.
// Skipped where the tables are absent. The bounds are the errors that were reached, rounded up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/energy/judge_energy.h"

namespace orrery {
namespace energy_accuracy_test {

ErrorSummary errors_of(const ValidationReport& report, std::string_view table,
                       std::string_view metric) {
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& r : report.rows) {
    if (r.by.at("table") == table && r.by.at("metric") == metric) rows.push_back(&r);
  }
  const ErrorSummary s = summarise(rows);
  fmt::print("{}, {}: {} rows, MAPE {:.1f}, median {:.1f}, bias {:+.1f} %, in 90 %: {:.1f}\n",
             table, metric, s.n, s.mape, s.median, s.bias, s.coverage90);
  return s;
}

TEST(EnergyAccuracy, KernelPower) {
  const std::filesystem::path data = data_folder() / "energy";
  if (!std::filesystem::exists(data / "kernel_power.csv.gz"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_energy(data, "", Bundle());
  const ErrorSummary shapes = errors_of(report, "kernel_power", "power of long calls");
  EXPECT_GT(shapes.n, 5000u);
  EXPECT_LE(shapes.mape, 17.5);
  EXPECT_LE(shapes.median, 7.4);
  EXPECT_GE(shapes.coverage90, 83.5);
  EXPECT_LE(shapes.coverage90, 95);
  const ErrorSummary brief = errors_of(report, "kernel_power", "power of short calls");
  EXPECT_LE(brief.mape, 26.6);
  EXPECT_GE(brief.coverage90, 75);
  const ErrorSummary gpus = errors_of(report, "kernel_power, GPU left out", "power of long calls");
  EXPECT_LE(gpus.mape, 35);
  EXPECT_GE(gpus.coverage90, 85);
  EXPECT_LE(gpus.coverage90, 97);
  // Steady readings of an H100 by constants that were fitted on readings of H200 and B200.
  const ErrorSummary steady =
      errors_of(report, "steady_power, GPU left out", "power of steady calls");
  EXPECT_GT(steady.n, 50u);
  EXPECT_LE(steady.mape, 16);
  EXPECT_LE(steady.median, 7);
}

}  // namespace energy_accuracy_test
}  // namespace orrery
