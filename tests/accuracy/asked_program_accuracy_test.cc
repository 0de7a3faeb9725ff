// Does the program answer the question of a row of `orrery validate` with the same number, to the
// last printed digit? Rows are drawn at random from each table. The question of each is written to
// a file and asked by `orrery run FILE -o json`. Skipped where the measured tables are absent.
//
//   ORRERY_ASKED_ROWS   rows of a table [4; 2 of simulated tables]
//   ORRERY_ASKED_SEED   of the draw [1]
//
// The constants are those of the catalog, which is what a user has: folds are for judging alone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/validate/judge/inference.h"
#include "orrery/validate/judge/kernels.h"
#include "orrery/validate/judge/network.h"
#include "orrery/validate/judge/serving.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Validate = ValidationReport (*)(const fs::path&, const std::string&, const Bundle&);
using Metrics = std::map<std::string, std::string>;  // the report's name to the answer's

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

class AskedProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(data_)) GTEST_SKIP() << data_ << " is absent: no measured rows";
    dir_ = fs::path(testing::TempDir()) / fmt::format("program-{}", ::getpid());
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Copies at most `most` random lines of a table below its header line.
  void draw(const std::string& table, std::size_t most) {
    std::ifstream in(data_ / table);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_GT(lines.size(), 1u) << table;
    std::shuffle(lines.begin() + 1, lines.end(), random_);
    std::ofstream out(dir_ / fs::path(table).filename());
    for (std::size_t i = 0; i < std::min(lines.size(), most + 1); ++i) out << lines[i] << '\n';
  }

  // The program's answer: the metrics of its only point.
  nlohmann::json answer_of(const std::string& scenario) {
    const fs::path file = dir_ / "question.yaml";
    std::ofstream(file) << scenario << '\n';
    const std::string command = fmt::format("'" ORRERY_PROGRAM "' run '{}' -o json", file.string());
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    EXPECT_EQ(::pclose(pipe), 0) << scenario;
    const auto answer = nlohmann::json::parse(out, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << scenario;
    return answer.is_object() ? answer.at("points").at(0).at("metrics") : nlohmann::json();
  }

  void expect_equal(const ValidationRow& row, const std::string& scenario,
                    const std::string& metric, double scale = 1) {
    auto& answer = answers_[scenario];
    if (answer.is_null()) answer = answer_of(scenario);
    if (!answer.contains(metric)) {
      ADD_FAILURE() << row.row << ": the answer has no " << metric << ": " << scenario;
      return;
    }
    // Answers are printed with six digits.
    EXPECT_EQ(fmt::format("{:.6g}", answer.at(metric).at("value").get<double>()),
              fmt::format("{:.6g}", row.predicted / scale))
        << row.row << ' ' << scenario;
  }

  // Asks `rows` rows of a table again, of at least that many drawn lines; the others are refused,
  // or no scenario asks them.
  void check(Validate validate, const std::string& table, std::size_t rows,
             const Metrics& metrics) {
    const ValidationReport report =
        validate(dir_, fs::path(table).stem().string(),
                 Bundle().replacing("engines/folds", {}).replacing("engines/group-folds", {}));
    std::size_t asked = 0, in_words = 0;
    for (const ValidationRow& row : report.rows) {
      const auto who = row.by.find("table");
      if (report.area == "network" && who->second != "orrery") continue;
      const auto metric = metrics.find(row.by.at("metric"));
      if (metric == metrics.end()) continue;
      if (!row.what.starts_with('{')) {
        ++in_words;
        continue;
      }
      if (asked++ >= rows) break;
      expect_equal(row, row.what, metric->second);
    }
    EXPECT_GE(asked, std::min<std::size_t>(rows, 4)) << table;
    fmt::print("{}: {} figures asked, {} rows in words\n", table, std::min(asked, rows), in_words);
  }

  const fs::path data_ = data_folder();
  const std::size_t rows_ = number_of("ORRERY_ASKED_ROWS", 4);
  const std::size_t simulated_rows_ = number_of("ORRERY_ASKED_ROWS", 2);
  std::mt19937_64 random_{number_of("ORRERY_ASKED_SEED", 1)};
  fs::path dir_;
  std::map<std::string, nlohmann::json> answers_;
};

TEST_F(AskedProgram, SingleRequests) {
  draw("inference/single_request.csv", 2 * rows_ + 20);
  check(validate_inference, "single_request", rows_,
        {{"prefill", "prefill_time"}, {"decode", "tpot"}});
}

TEST_F(AskedProgram, OfflineThroughput) {
  draw("inference/offline_throughput.csv", 2 * rows_ + 20);
  check(validate_inference, "offline_throughput", rows_, {{"throughput", "output_throughput"}});
}

TEST_F(AskedProgram, ClosedLoops) {
  draw("inference/serving_steady.csv", rows_ + 20);
  check(validate_inference, "serving_steady", rows_, {{"ttft", "ttft"}, {"tpot", "tpot"}});
}

TEST_F(AskedProgram, SimulatedClosedLoops) {
  draw("inference/serving_steady.csv", simulated_rows_ + 12);
  check(validate_serving, "serving_steady", simulated_rows_, {{"ttft", "ttft"}, {"tpot", "tpot"}});
}

TEST_F(AskedProgram, RequestsAtARate) {
  draw("inference/serving_rate.csv", simulated_rows_ + 4);
  check(validate_serving, "serving_rate", simulated_rows_,
        {{"ttft", "ttft"},
         {"tpot", "tpot"},
         {"tpot p99", "tpot_p99"},
         {"throughput", "request_throughput"}});
}

TEST_F(AskedProgram, Collectives) {
  draw("network/measured.csv", 3 * rows_ + 20);
  check(validate_network, "measured", rows_,
        {{"below 1 MiB", "time"},
         {"1 to 128 MiB", "time"},
         {"128 MiB and more", "time"},
         {"bandwidth", "busbw"}});
}

// Rows of each table are drawn from all that the fit left out.
TEST_F(AskedProgram, Kernels) {
  std::vector<std::string> tables;
  for (const auto& entry : fs::directory_iterator(data_ / "kernels")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".csv.gz") && name.find("collective") == name.npos)
      tables.push_back(name.substr(0, name.size() - 7));
  }
  std::sort(tables.begin(), tables.end());
  // Without the variables, some tables: the large ones take seconds to read.
  const bool all = std::getenv("ORRERY_ASKED_ROWS") != nullptr;
  std::size_t known = 0;
  for (const std::string& table : tables) {
    if (!all && fs::file_size(data_ / "kernels" / (table + ".csv.gz")) > 400'000) continue;
    std::vector<ValidationRow> drawn;
    std::size_t n = 0, in_words = 0;
    KernelValidation options;
    options.table = table;
    options.scenarios = true;
    try {
      validate_kernels(data_ / "kernels", options, Bundle(), [&](const ValidationRow& row) {
        if (row.scenario.empty()) {
          ++in_words;
          return;
        }
        // Every row stays with the same probability.
        const std::size_t place = std::uniform_int_distribution<std::size_t>(0, n++)(random_);
        if (drawn.size() < rows_) {
          drawn.push_back(row);
        } else if (place < rows_) {
          drawn[place] = row;
        }
      });
    } catch (const InputError&) {  // no table of kernels
      continue;
    }
    known += !drawn.empty();
    for (const ValidationRow& row : drawn) expect_equal(row, row.scenario, "time", 1e-6);
    fmt::print("{}: {} rows asked, {} of {} rows in words\n", table, drawn.size(), in_words,
               n + in_words);
  }
  EXPECT_GE(known, 3u);
}

}  // namespace
}  // namespace orrery
