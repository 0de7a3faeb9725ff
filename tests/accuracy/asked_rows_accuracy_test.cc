// Does a user who asks the question of a row of `orrery validate` get the same number? The
// questions of rows (ValidationRow::what) are scenario documents. They are read and answered here
// as `orrery run` answers a file. Skipped where the measured tables are absent.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "orrery/base/data_folder.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/judge/inference.h"
#include "orrery/validate/judge/network.h"
#include "orrery/validate/judge/serving.h"

namespace orrery {
namespace asked_rows_accuracy_test {

namespace fs = std::filesystem;

using Validate = ValidationReport (*)(const fs::path&, const std::string&, const Bundle&,
                                      ConstantsChoice);

class AskedRows : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(data_)) GTEST_SKIP() << data_ << " is absent: no measured rows";
    dir_ = fs::path(testing::TempDir()) / fmt::format("asked-{}", ::getpid());
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Copies at most `most` lines of a table, evenly spread, below its header line.
  void sample(const std::string& table, std::size_t most) const {
    std::ifstream in(data_ / table);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_GT(lines.size(), 1u) << table;
    const std::size_t rows = lines.size() - 1, n = std::min(rows, most);
    std::ofstream out(dir_ / fs::path(table).filename());
    out << lines[0] << '\n';
    for (std::size_t i = 0; i < n; ++i) out << lines[1 + i * rows / n] << '\n';
  }

  // The figure of a row's metric in the answer of its question.
  static double asked(Runner& runner, const ValidationRow& row, const std::string& metric) {
    const ScenarioSweep scenario =
        read_scenario(all_kinds(), parse_yaml(row.what, "the row's question"));
    RunOptions options;
    options.intervals = false;
    options.breakdown = false;
    const Answer answer = runner.run(scenario, options);
    const Metric* m = answer.points.at(0).find(metric);
    if (m == nullptr) {
      ADD_FAILURE() << row.row << ": the answer has no " << metric;
      return -1;
    }
    return m->value;
  }

  // Validates the sampled table and asks the question of each of its rows; returns how many rows
  // have one. `metrics`: the report's name of a figure to the answer's.
  std::size_t check(Validate validate, const std::string& table,
                    const std::map<std::string, std::string>& metrics) const {
    // Rows are judged by constants fitted without them, which no command line has. They are asked
    // here by the constants as they are.
    const Bundle bundle;
    const ValidationReport report = validate(dir_, table, bundle, ConstantsChoice::kCommitted);
    Runner runner(bundle);
    std::size_t asked_rows = 0;
    for (const ValidationRow& row : report.rows) {
      if (!row.what.starts_with('{')) continue;
      const auto metric = metrics.find(row.by.at("metric"));
      EXPECT_NE(metric, metrics.end()) << row.by.at("metric");
      if (metric == metrics.end()) continue;
      ++asked_rows;
      EXPECT_EQ(asked(runner, row, metric->second), row.predicted) << row.row << ' ' << row.what;
    }
    EXPECT_GT(report.rows.size(), 0u);
    fmt::print("{}: {} figures, {} of them asked again\n", table, report.rows.size(), asked_rows);
    return asked_rows;
  }

  const fs::path data_ = data_folder();
  fs::path dir_;
};

TEST_F(AskedRows, SingleRequests) {
  sample("inference/single_request.csv", 300);  // of which some are refused
  EXPECT_GE(check(validate_inference, "single_request",
                  {{"prefill", "prefill_time"}, {"decode", "tpot"}}),
            200u);
}

TEST_F(AskedRows, OfflineThroughput) {
  sample("inference/offline_throughput.csv", 1500);
  EXPECT_GE(check(validate_inference, "offline_throughput", {{"throughput", "output_throughput"}}),
            200u);
}

TEST_F(AskedRows, ClosedLoops) {
  sample("inference/serving_steady.csv", 400);
  EXPECT_GE(check(validate_inference, "serving_steady", {{"ttft", "ttft"}, {"tpot", "tpot"}}),
            200u);
}

// Experts' loads are skewed in every closed loop of a model with experts, and the question says so.
TEST_F(AskedRows, ClosedLoopsOfExpertsNameTheirSkew) {
  sample("inference/serving_steady.csv", 400);
  std::size_t experts = 0;
  for (const ValidationRow& row : validate_inference(dir_, "serving_steady", Bundle()).rows) {
    const bool moe = row.by.at("family").starts_with("moe");
    experts += moe;
    EXPECT_EQ(row.what.find("expert_skew: 1.01") != std::string::npos, moe) << row.what;
  }
  EXPECT_GT(experts, 0u);
}

// Simulated request by request, which takes about a minute.
TEST_F(AskedRows, SimulatedClosedLoops) {
  sample("inference/serving_steady.csv", 300);
  EXPECT_GE(check(validate_serving, "serving_steady", {{"ttft", "ttft"}, {"tpot", "tpot"}}), 200u);
}

TEST_F(AskedRows, RequestsAtARate) {
  sample("inference/serving_rate.csv", 500);
  EXPECT_GE(check(validate_serving, "serving_rate",
                  {{"ttft", "ttft"},
                   {"tpot", "tpot"},
                   {"tpot p99", "tpot_p99"},
                   {"throughput", "request_throughput"}}),
            200u);
}

// Rows on nodes that no catalog file describes (other ports, fewer GPUs a node) need a node file
// and are in words. Baselines repeat the question.
TEST_F(AskedRows, Collectives) {
  sample("network/measured.csv", 1500);
  const auto orrery_alone = [](const fs::path& dir, const std::string& table, const Bundle& bundle,
                               ConstantsChoice constants) {
    ValidationReport report = validate_network(dir, table, bundle, constants);
    std::erase_if(report.rows, [](const ValidationRow& r) { return r.by.at("table") != "orrery"; });
    return report;
  };
  EXPECT_GE(check(orrery_alone, "measured",
                  {{"below 1 MiB", "time"},
                   {"1 to 128 MiB", "time"},
                   {"128 MiB and more", "time"},
                   {"bandwidth", "busbw"}}),
            200u);
}

}  // namespace asked_rows_accuracy_test
}  // namespace orrery
