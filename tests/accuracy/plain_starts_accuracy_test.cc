// How far are services that users start without settings of their own from the profile of their
// engine? ML.ENERGY's leaderboard has such services of vLLM 0.11, which schedules synchronously
// (vllm-2025): data/inference/serving_steady. The table has the mean length of the outputs alone;
// the prompts of its tasks have a few hundred tokens, which the time of a token hardly depends on.
//
// No constant was fitted on these rows. The step error that they ask for is the one of plain starts
// in catalog/engines (`setup`, docs/lab/2026-11-plain-starts.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace plain_starts_accuracy_test {

struct PlainStart {
  std::string system, task, yaml;
  double tpot = 0;  // ms, median
};

std::vector<PlainStart> plain_starts(const std::filesystem::path& table) {
  constexpr int kPrompt = 250;  // tokens
  std::vector<PlainStart> out;
  CsvReader csv(table);
  const auto text = [&csv](const char* column) {
    return std::string(csv.text(csv.column(column)));
  };
  while (csv.next()) {
    if (!text("source").starts_with("ml.energy") || !text("suspect").empty()) continue;
    const std::string format = text("precision"), model = text("model"), dp = text("dp"),
                      ep = text("moe_ep");
    const bool blocks = format == "fp8" && model.starts_with("qwen3");
    out.push_back({text("system"), text("length_kind"),
                   fmt::format("model: {}\nhardware: {{gpu: {}}}\n"
                               "parallel: {{tp: {}, dp: {}, ep: {}}}\n"
                               "precision: {{quantization: {}}}\n"
                               "engine: {{profile: vllm-2025, setup: default}}\n"
                               "workload: {{closed_loop: true, equal_lengths: false, isl: {}, "
                               "osl: {}, batch: {}}}\n",
                               model, text("system"), text("tp"), dp.empty() ? "1" : dp,
                               ep.empty() ? "1" : ep,
                               format == "fp4" ? "''"
                               : blocks        ? "fp8_block"
                                               : format,
                               kPrompt, std::lround(std::stod(text("osl"))), text("concurrency")),
                   std::stod(text("tpot_ms"))});
  }
  return out;
}

struct Spread {
  std::vector<double> errors;  // logarithms
  int inside = 0;
};

double quantile_of(std::vector<double> sorted, double p) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

TEST(PlainStarts, AreInsideTheIntervals) {
  const auto table = data_folder() / "inference" / "serving_steady.csv";
  if (!std::filesystem::exists(table)) GTEST_SKIP() << table << " is not there";
  Runner runner{Bundle()};
  RunOptions options;
  options.breakdown = false;
  std::map<std::string, Spread> classes;
  int refused = 0;
  for (const PlainStart& row : plain_starts(table)) {
    const bool hopper = row.system.starts_with("h100");
    // Its reasoning tasks on B200 take 26 ms a token more than any other at every batch and model.
    if (!hopper && row.task.ends_with("gpqa")) continue;
    try {
      const Point p =
          runner.run(read_scenario(all_kinds(), parse_yaml(row.yaml, "row"))).points.at(0);
      const Metric* m = p.find("tpot");
      if (m == nullptr) continue;
      Spread& s = classes[hopper ? "Hopper" : "Blackwell"];
      s.errors.push_back(std::log(row.tpot / m->value));
      s.inside += m->low90 <= row.tpot && row.tpot <= m->high90 ? 1 : 0;
    } catch (const std::runtime_error&) {
      ++refused;  // layouts that the table states in part
    }
  }
  for (const auto& [name, s] : classes) {
    std::vector<double> absolute;
    for (const double e : s.errors) absolute.push_back(std::abs(e));
    const double inside = 1.0 * s.inside / static_cast<double>(s.errors.size());
    fmt::print(
        "{}: {} rows, measured/predicted {:.2f} (median), median error {:.1f} %, {:.0f} % "
        "inside, step error asked for {:.3f}\n",
        name, s.errors.size(), std::exp(quantile_of(s.errors, 0.5)),
        100 * std::expm1(quantile_of(absolute, 0.5)), 100 * inside,
        quantile_of(absolute, 0.9) / 1.645);
    EXPECT_GE(inside, 0.85) << name;
    EXPECT_LE(quantile_of(absolute, 0.5), name == "Hopper" ? 0.07 : 0.16);
    EXPECT_GE(s.errors.size(), 70u);
  }
  EXPECT_EQ(classes.size(), 2u);
  fmt::print("{} rows refused\n", refused);
}

}  // namespace plain_starts_accuracy_test
}  // namespace orrery
