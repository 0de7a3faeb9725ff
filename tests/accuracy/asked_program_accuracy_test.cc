// Does the program answer the question of a row of `orrery validate` with the same number, to the
// last printed digit? Rows are drawn at random from each table and judged by the constants of the
// catalog, which is what a user has: `orrery validate AREA --committed -o csv`. The question of
// each row is written to a file and asked by `orrery run FILE -o json`. The tests are skipped where
// the measured tables are absent.
//
//   ORRERY_ASKED_ROWS   rows of a table [4; 2 of simulated tables]; set: of every table
//   ORRERY_ASKED_SEED   of the draw [1]
//   ORRERY_PROGRAM      the program [the one of this build]
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
#include <sstream>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/base/node.h"

namespace orrery {
namespace asked_program_accuracy_test {

namespace fs = std::filesystem;

constexpr int kBadInput = 2;
constexpr int kDoesNotFit = 3;  // the job does not fit, but has an answer

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

// The rows of one table by what became of them.
struct Count {
  std::size_t rows = 0, asked = 0, equal = 0;
  std::map<std::string, std::size_t> in_words;  // by reason
};

class AskedProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(data_)) GTEST_SKIP() << data_ << " is absent: no measured rows";
    dir_ = fs::path(testing::TempDir()) / fmt::format("program-{}", ::getpid());
    fs::create_directories(dir_ / "tables");
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Writes the header of a table and at most `most` random lines of it.
  void draw(const std::string& table, std::size_t most) {
    std::istringstream in(read_text_file(data_ / table, std::size_t{1} << 32));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
    ASSERT_GT(lines.size(), 1u) << table;
    std::shuffle(lines.begin() + 1, lines.end(), random_);
    // A table is known to be compressed by its content.
    std::ofstream out(dir_ / "tables" / fs::path(table).filename());
    for (std::size_t i = 0; i < std::min(lines.size(), most + 1); ++i) out << lines[i] << '\n';
  }
  void copy(const std::string& table) {
    fs::copy_file(data_ / table, dir_ / "tables" / fs::path(table).filename());
  }

  // The program's exit code. Its output is written to `out`.
  int run(const std::string& arguments, const fs::path& out) const {
    const std::string command = fmt::format("'{}' {} > '{}' 2> '{}'", program_, arguments,
                                            out.string(), (dir_ / "errors").string());
    return std::system(command.c_str()) / 256;
  }
  std::string errors() const { return read_text_file(dir_ / "errors"); }

  // The program's answer: the metrics of its only point.
  nlohmann::json answer_of(const std::string& scenario) {
    std::ofstream(dir_ / "question.yaml") << scenario << '\n';
    const fs::path out = dir_ / "answer.json";
    const auto question = (dir_ / "question.yaml").string();
    const int code = run(fmt::format("run '{}' -o json", question), out);
    EXPECT_TRUE(code == 0 || code == kDoesNotFit) << code << ' ' << scenario << ' ' << errors();
    std::ifstream in(out);
    const auto answer = nlohmann::json::parse(in, nullptr, false);
    return answer.is_object() ? answer.at("points").at(0).at("metrics") : nlohmann::json();
  }

  bool is_equal(const std::string& row, const std::string& scenario, const std::string& metric,
                double predicted) {
    auto& answer = answers_[scenario];
    if (answer.is_null()) answer = answer_of(scenario);
    if (!answer.contains(metric)) {
      ADD_FAILURE() << row << ": the answer has no " << metric << ": " << scenario;
      return false;
    }
    // Answers are printed with six digits.
    const auto printed = [](double v) { return fmt::format("{:.6g}", v); };
    const std::string theirs = printed(answer.at(metric).at("value").get<double>()),
                      ours = printed(predicted);
    EXPECT_EQ(theirs, ours) << row << ' ' << scenario;
    return theirs == ours;
  }

  // Validates the drawn tables and asks the questions of at most `rows` figures of `table`. `unit`:
  // of the answers, in that of the report.
  Count check(const std::string& area, const std::string& table, std::size_t rows,
              double unit = 1) {
    Count count;
    const fs::path report = dir_ / "report.csv";
    const std::string arguments =
        fmt::format("validate {} --committed --table '{}' --data '{}' -o csv", area, table,
                    (dir_ / "tables").string());
    if (const int code = run(arguments, report); code != 0) {
      EXPECT_EQ(code, kBadInput) << errors();
      return count;
    }
    CsvReader csv(report);
    const int who = csv.column("table"), row = csv.column("row"),
              predicted = csv.column("predicted"), question = csv.column("question"),
              answer = csv.column("answer");
    while (csv.next()) {
      // Other predictors of a collective are tables of their own.
      if (area == "network" && csv.text(who) != "orrery") continue;
      ++count.rows;
      const std::string what(csv.text(question));
      if (!what.starts_with('{')) {
        ++count.in_words[what.substr(what.rfind(": ") + 2)];
      } else if (count.asked < rows) {
        ++count.asked;
        count.equal += is_equal(std::string(csv.text(row)), what, std::string(csv.text(answer)),
                                csv.number(predicted) / unit);
      }
    }
    fmt::print("{} {}: {} figures asked, {} equal; of {} drawn {} in words\n", area, table,
               count.asked, count.equal, count.rows, words(count));
    for (const auto& [why, n] : count.in_words) fmt::print("  {}: {}\n", n, why);
    std::fflush(stdout);
    return count;
  }
  static std::size_t words(const Count& count) {
    std::size_t sum = 0;
    for (const auto& [why, n] : count.in_words) sum += n;
    return sum;
  }

  const fs::path data_ = data_folder();
  const std::string program_ =
      std::getenv("ORRERY_PROGRAM") ? std::getenv("ORRERY_PROGRAM") : ORRERY_PROGRAM;
  const std::size_t rows_ = number_of("ORRERY_ASKED_ROWS", 4);
  const std::size_t simulated_rows_ = number_of("ORRERY_ASKED_ROWS", 2);
  std::mt19937_64 random_{number_of("ORRERY_ASKED_SEED", 1)};
  fs::path dir_;
  std::map<std::string, nlohmann::json> answers_;
};

TEST_F(AskedProgram, SingleRequests) {
  draw("inference/single_request.csv", 2 * rows_ + 20);
  EXPECT_GE(check("inference", "single_request", rows_).asked, 4u);
}

TEST_F(AskedProgram, OfflineThroughput) {
  draw("inference/offline_throughput.csv", 2 * rows_ + 20);
  EXPECT_GE(check("inference", "offline_throughput", rows_).asked, 4u);
}

TEST_F(AskedProgram, ClosedLoops) {
  draw("inference/serving_steady.csv", rows_ + rows_ / 2 + 20);
  EXPECT_GE(check("inference", "serving_steady", rows_).asked, 4u);
}

TEST_F(AskedProgram, SimulatedClosedLoops) {
  draw("inference/serving_steady.csv", simulated_rows_ + simulated_rows_ / 2 + 12);
  EXPECT_GE(check("serving", "serving_steady", simulated_rows_).asked, 2u);
}

TEST_F(AskedProgram, RequestsAtARate) {
  draw("inference/serving_rate.csv", simulated_rows_ + simulated_rows_ / 2 + 4);
  EXPECT_GE(check("serving", "serving_rate", simulated_rows_).asked, 2u);
}

TEST_F(AskedProgram, Collectives) {
  draw("network/measured.csv", 2 * rows_ + 20);
  EXPECT_GE(check("network", "measured", rows_).asked, 4u);
  draw("kernels/collective_nccl.csv.gz", 4 * rows_ + 40);
  EXPECT_GE(check("network", "collective_nccl", rows_).asked, 4u);
}

TEST_F(AskedProgram, TrainingIterations) {
  copy("training/models.csv");
  draw("training/iteration.csv", 3 * rows_ + 60);
  EXPECT_GE(check("training", "iteration", rows_).asked, 4u);
  draw("training/mlperf_training.csv", 4 * rows_ + 60);
  EXPECT_GE(check("training", "mlperf", rows_).asked, 4u);
}

TEST_F(AskedProgram, TrainingMemory) {
  copy("training/models.csv");
  draw("training/iteration.csv", 9 * rows_ + 400);  // one row in eight states its memory
  EXPECT_GE(check("training-memory", "training_memory", rows_).asked, 4u);
  EXPECT_GE(check("training-memory", "training_memory_undescribed", rows_).asked, 1u);
}

TEST_F(AskedProgram, Kernels) {
  std::vector<std::string> tables;
  for (const auto& entry : fs::directory_iterator(data_ / "kernels")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".csv.gz") && name.find("collective") == name.npos) tables.push_back(name);
  }
  std::sort(tables.begin(), tables.end());
  // Without the variables, some tables: the large ones take seconds to read.
  const bool all = std::getenv("ORRERY_ASKED_ROWS") != nullptr;
  std::size_t known = 0;
  for (const std::string& file : tables) {
    if (!all && fs::file_size(data_ / "kernels" / file) > 400'000) continue;
    draw("kernels/" + file, 3 * rows_ + 40);
    const std::string table = file.substr(0, file.size() - std::string_view(".csv.gz").size());
    known += check("kernels", table, rows_, 1e-6).asked >= std::min<std::size_t>(rows_, 4);
  }
  EXPECT_GE(known, 3u);
}

}  // namespace asked_program_accuracy_test
}  // namespace orrery
