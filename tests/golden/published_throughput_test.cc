// Are throughputs that others published for models of 2025 and 2026 inside the 90 % intervals?
// The scenarios are scenarios/published, the figures published_throughput.yaml.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace published_throughput_test {

namespace fs = std::filesystem;

struct Published {
  std::string scenario;
  std::string model;
  double tokens_per_second = 0;
  bool doubtful = false;
};

std::vector<Published> published() {
  std::vector<Published> out;
  const fs::path file = fs::path(ORRERY_SOURCE_DIR) / "tests/golden/published_throughput.yaml";
  const Node document = read_document(file);
  for (const Node& page : document.items()) {
    EXPECT_TRUE(page.at("source").as_string().starts_with("https://")) << page.text();
    for (const Node& row : page.at("rows").items()) {
      out.push_back({row.at("scenario").as_string(), row.at("model").as_string(),
                     row.at("tokens_per_second").as_double(), row.find("doubt") != nullptr});
    }
  }
  return out;
}

// The predicted throughput; absent where a part of the model has no ops, or the model does not fit.
std::optional<Metric> predicted(Runner& runner, const ScenarioSweep& scenario) {
  RunOptions options;
  options.breakdown = false;
  try {
    const Answer answer = runner.run(scenario, options);
    const Metric* m = answer.points.at(0).find("output_throughput");
    if (m != nullptr) return *m;
  } catch (const NoData&) {
  }
  return std::nullopt;
}

// A model counts as inside if more than half of its rows are.
TEST(PublishedThroughput, OfNewModelsIsInsideTheIntervals) {
  Runner runner{Bundle()};
  std::map<std::string, std::pair<int, int>> models;  // rows, and those inside
  int inside = 0;
  int rows = 0;
  for (const Published& p : published()) {
    SCOPED_TRACE(p.scenario);
    const ScenarioSweep scenario = read_scenario(
        all_kinds(), fs::path(ORRERY_SOURCE_DIR) / "scenarios/published" / (p.scenario + ".yaml"));
    EXPECT_TRUE(scenario.points.at(0).model.starts_with(p.model));
    const std::optional<Metric> m = predicted(runner, scenario);
    if (!m) {
      fmt::print("{:34} {:6.0f}  no answer\n", p.scenario, p.tokens_per_second);
      continue;
    }
    const bool in = m->low90 <= p.tokens_per_second && p.tokens_per_second <= m->high90;
    fmt::print("{:34} {:6.0f} {:6.0f} [{:5.0f}, {:5.0f}] {:+4.0f} % {}{}\n", p.scenario,
               p.tokens_per_second, m->value, m->low90, m->high90,
               100 * (m->value / p.tokens_per_second - 1), in ? "inside" : "outside",
               p.doubtful ? ", doubtful" : "");
    if (p.doubtful) continue;
    ++rows;
    inside += in ? 1 : 0;
    std::pair<int, int>& of_model = models[p.model];
    ++of_model.first;
    of_model.second += in ? 1 : 0;
  }
  int models_inside = 0;
  for (const auto& [model, n] : models) models_inside += 2 * n.second > n.first ? 1 : 0;
  fmt::print("inside: {} of {} rows, {} of {} models\n", inside, rows, models_inside,
             models.size());
  // The bounds are what was reached, rounded down (docs/accuracy.md).
  EXPECT_GE(models_inside, 8);
  EXPECT_GE(5 * inside, 3 * rows);
}

}  // namespace published_throughput_test
}  // namespace orrery
