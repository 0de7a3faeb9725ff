// Errors on measured requests and batches; skipped where the tables are absent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/judge/inference.h"

namespace orrery {
namespace inference_accuracy_test {

double median_error(const ValidationReport& report, const std::string& table,
                    const std::string& metric) {
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& r : report.rows) {
    if (r.by.at("table") != table || r.by.at("metric") != metric) continue;
    rows.push_back(&r);
  }
  const ErrorSummary s = summarise(rows);
  fmt::print("{} {}: n {}, median {:.1f} %, bias {:+.1f} %, inside 90 %: {:.0f} %\n", table, metric,
             s.n, s.median, s.bias, s.coverage90);
  return s.median;
}

TEST(Accuracy, SingleRequestsAndBatches) {
  const std::filesystem::path data = data_folder() / "inference";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_inference(data, "", Bundle());
  // Median errors in percent that the fits reached, rounded up. Every group of single requests and
  // batches is predicted by constants that were fitted without it. Closed loops are predicted in
  // closed form by the constants of all groups; `orrery validate serving` judges them. The closed
  // form of first tokens has no queue of the front end.
  EXPECT_LE(median_error(report, "single_request", "decode"), 12.4);
  EXPECT_LE(median_error(report, "single_request", "prefill"), 13.7);
  EXPECT_LE(median_error(report, "offline_throughput", "throughput"), 7.7);
  EXPECT_LE(median_error(report, "serving_steady", "tpot"), 10);
  EXPECT_LE(median_error(report, "serving_steady", "ttft"), 28.1);
}

}  // namespace inference_accuracy_test
}  // namespace orrery
