// Errors of latencies of networks on devices that no law has seen. Skipped where the tables are
// absent. The bounds are the errors that were reached, rounded up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/edge/judge_edge.h"
#include "orrery/validate/edge/judge_nas.h"

namespace orrery {
namespace edge_accuracy_test {

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
  EXPECT_LE(errors_of(report, "facts alone").median, 32);
  EXPECT_LE(errors_of(report, "5 measured").median, 11.5);
  const ErrorSummary ten = errors_of(report, "10 measured");
  EXPECT_GT(ten.n, 900u);
  EXPECT_LE(ten.median, 9);
  EXPECT_GE(ten.coverage90, 85);
  EXPECT_LE(ten.coverage90, 95);
}

// Networks on microcontrollers and NPUs, and their energies.
TEST(EdgeAccuracy, SmallProcessors) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "mlperf_tiny.csv"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "tiny", Bundle());
  EXPECT_LE(errors_of(report, "processor left out").median, 20);
  const ErrorSummary network = errors_of(report, "network left out");
  EXPECT_GT(network.n, 70u);
  EXPECT_LE(network.median, 15);
  EXPECT_GE(network.coverage90, 85);
  EXPECT_LE(errors_of(report, "energy, network left out").median, 25);
}

TEST(EdgeAccuracy, RankCorrelationTakesTheMeanRankOfTies) {
  EXPECT_NEAR(rank_correlation({{1, 10}, {2, 20}, {3, 35}}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({{1, 30}, {2, 20}, {3, 10}}), -1, 1e-12);
  // Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: 4.5 over the root of 4.5 times 5.
  EXPECT_NEAR(rank_correlation({{1, 1}, {2, 2}, {2, 3}, {3, 4}}), std::sqrt(4.5 / 5), 1e-12);
}

// Ten architectures of a search space measured on a device that the law has not seen.
TEST(EdgeAccuracy, ArchitecturesOfSearchSpaces) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "cnn_nas.csv.gz"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "nas", Bundle());
  for (const char* space : {"nasbench201", "fbnet"}) {
    const ErrorSummary s = errors_of(report, space);
    EXPECT_GT(s.n, 1000u);
    EXPECT_LE(s.median, 5) << space;
  }
}

TEST(EdgeAccuracy, LlmsByPairsOfDeviceAndModel) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "llm_edge.csv"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "llm", Bundle());
  const ErrorSummary decode = errors_of(report, "decode"), prefill = errors_of(report, "prefill");
  EXPECT_GT(decode.n, 600u);
  EXPECT_LE(decode.median, 8);
  EXPECT_LE(decode.mape, 15);
  EXPECT_GE(decode.coverage90, 82);
  EXPECT_LE(prefill.median, 9.5);
  EXPECT_LE(prefill.mape, 17.5);
  EXPECT_GE(prefill.coverage90, 80);
}

// The rows are few; one is 14 times slower than its own submission's batches say (docs/edge.md).
TEST(EdgeAccuracy, SingleStreamsOfMlperf) {
  const std::filesystem::path data = data_folder() / "edge";
  if (!std::filesystem::exists(data / "mlperf_edge.csv"))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const ValidationReport report = validate_edge(data, "mlperf", Bundle());
  const ErrorSummary s = errors_of(report, "single stream");
  EXPECT_GE(s.n, 12u);
  EXPECT_LE(s.median, 22);
  EXPECT_GE(s.coverage90, 85);
  EXPECT_LE(s.coverage90, 95);
}

}  // namespace edge_accuracy_test
}  // namespace orrery
