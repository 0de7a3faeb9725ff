// Are throughputs that others published for models of 2025 and 2026 inside the 90 % intervals?
// The scenarios are scenarios/published, the figures published_throughput.yaml.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct Published {
  std::string scenario;
  std::string model;
  std::int64_t users = 0;
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
                     row.at("users").as_int(), row.at("tokens_per_second").as_double(),
                     row.find("doubt") != nullptr});
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

// A model counts as inside if all its rows with the most users are.
TEST(PublishedThroughput, OfNewModelsIsInsideTheIntervals) {
  Runner runner{Bundle()};
  std::map<std::string, std::pair<std::int64_t, bool>> models;  // most users; inside
  int inside = 0;
  int rows = 0;
  for (const Published& p : published()) {
    SCOPED_TRACE(p.scenario);
    const ScenarioSweep scenario =
        read_scenario(fs::path(ORRERY_SOURCE_DIR) / "scenarios/published" / (p.scenario + ".yaml"));
    EXPECT_EQ(scenario.points.at(0).model, p.model);
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
    std::pair<std::int64_t, bool>& most = models.emplace(p.model, std::pair{0, true}).first->second;
    if (p.users > most.first) most = {p.users, in};
    if (p.users == most.first) most.second = most.second && in;
  }
  int models_inside = 0;
  for (const auto& [model, most] : models) models_inside += most.second ? 1 : 0;
  fmt::print("inside: {} of {} rows, {} of {} models\n", inside, rows, models_inside,
             models.size());
  // Reached; see docs/accuracy.md.
  EXPECT_GE(models_inside, 9);
  EXPECT_GE(3 * inside, 2 * rows);
}

}  // namespace
}  // namespace orrery
