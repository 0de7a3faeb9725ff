// Pinned predictions: a change of the model shows up here and in the review of predictions.csv.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/scenario/runner/runner.h"
#include "tests/golden/program.h"

namespace orrery::golden {
namespace predictions_test {

constexpr const char* kFile = ORRERY_SOURCE_DIR "/tests/golden/predictions.csv";
constexpr std::string_view kHead = "model,gpu,engine,quantization,tp,ep,isl,osl,batch";

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// Four significant digits: the same on every compiler.
std::string predicted(Runner& runner, const std::vector<std::string>& cells) {
  Scenario s;
  s.model = cells[0], s.hardware.gpu = cells[1], s.engine.profile = cells[2],
  s.precision.quantization = cells[3];
  s.parallel.tp = std::stoi(cells[4]), s.parallel.ep = std::stoi(cells[5]);
  SteadyQuestion& load = s.ask<SteadyQuestion>();
  load.isl = std::stoi(cells[6]), load.osl = std::stoi(cells[7]);
  load.batch = std::stoi(cells[8]);
  RunOptions options;
  options.breakdown = false;
  const Point p = runner.run(s, options).points.at(0);
  std::string out;
  for (const char* name : {"ttft", "tpot", "memory"}) {
    const Metric* m = p.find(name);
    out += m ? fmt::format(",{:.4g}", m->value) : ",";
  }
  return out;
}

// "llama-2-7b on a100-80g-sxm, vllm, tp 1, ...: ttft_ms 12.57 to 13.2 (+5.0 %)"
std::string change_of(const std::vector<std::string>& names, const std::string& before,
                      const std::string& after) {
  const std::vector<std::string> old_cells = split(before), new_cells = split(after);
  std::string place, changes;
  for (std::size_t i = 0; i < std::min(names.size(), new_cells.size()); ++i) {
    const std::string was = i < old_cells.size() ? old_cells[i] : "", &now = new_cells[i];
    if (was == now) {
      if (!now.empty() && !names[i].ends_with("_ms") && !names[i].ends_with("_gb"))
        place += fmt::format("{}{} {}", place.empty() ? "" : ", ", names[i], now);
      continue;
    }
    changes += fmt::format("\n    {} {} to {}", names[i], was.empty() ? "nothing" : was,
                           now.empty() ? "nothing" : now);
    if (!was.empty() && !now.empty())
      changes += fmt::format(" ({:+.1f} %)", 100 * (std::stod(now) / std::stod(was) - 1));
  }
  return fmt::format("  {}{}\n", place, changes);
}

TEST(Predictions, AreThePinnedOnes) {
  const std::vector<std::string> lines = lines_of(read_file(kFile));
  ASSERT_GE(lines.size(), 41u);
  ASSERT_TRUE(lines[0].starts_with(kHead));
  Runner runner{Bundle()};
  std::string rewritten = std::string(kHead) + ",ttft_ms,tpot_ms,memory_gb\n";
  std::string changed;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> cells = split(lines[i]);
    ASSERT_GE(cells.size(), 9u) << lines[i];
    cells.resize(9);
    const std::string line = fmt::format("{}{}", fmt::join(cells, ","), predicted(runner, cells));
    rewritten += line + "\n";
    if (line != lines[i]) changed += change_of(split(lines[0]), lines[i], line);
  }
  if (rewriting()) return write_text(kFile, rewritten);
  EXPECT_TRUE(changed.empty()) << "Predictions changed (CONTRIBUTING.md says how that lands):\n"
                               << changed << how_to_rewrite();
}

}  // namespace predictions_test
}  // namespace orrery::golden
