// Errors of latencies of networks on devices that no law has seen. Skipped where the tables are
// absent. The bounds are the errors that were reached, rounded up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/edge/judge_edge.h"

namespace orrery {
namespace {

ErrorSummary errors_of(const ValidationReport& report, std::string_view metric) {
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& r : report.rows) {
    if (r.by.at("metric") == metric) rows.push_back(&r);
  }
  const ErrorSummary s = summarise(rows);
  fmt::print("{}: {} rows, MAPE {:.1f}, median {:.1f}, bias {:+.1f} %, in 90 %: {:.1f}\n", metric,
             s.n, s.mape, s.median, s.bias, s.coverage90);
  return s;
}

TEST(EdgeAccuracy, NetworksOnUnknownDevices) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "cnn_edge.csv"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "ncnn", Bundle());
  EXPECT_LE(errors_of(report, "facts alone").median, 36);
  EXPECT_LE(errors_of(report, "5 measured").median, 15);
  const ErrorSummary ten = errors_of(report, "10 measured");
  EXPECT_GT(ten.n, 1000u);
  EXPECT_LE(ten.median, 14);
  EXPECT_GE(ten.coverage90, 75);
}

TEST(EdgeAccuracy, LlmsByPairsOfDeviceAndModel) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "llm_edge.csv"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "llm", Bundle());
  const ErrorSummary decode = errors_of(report, "decode"), prefill = errors_of(report, "prefill");
  EXPECT_GT(decode.n, 600u);
  EXPECT_LE(decode.median, 9.5);
  EXPECT_LE(decode.mape, 18);
  EXPECT_GE(decode.coverage90, 82);
  EXPECT_LE(prefill.median, 14);
  EXPECT_LE(prefill.mape, 22);
  EXPECT_GE(prefill.coverage90, 80);
}

}  // namespace
}  // namespace orrery
