// Are serving figures that others published inside the 90 % intervals? The questions and the
// figures are published_serving.yaml; docs/lab/2026-11-published-serving.md has the answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct Range {
  double low = 0, value = 0, high = 0;
};

double number(const Node& row, std::string_view key, double otherwise) {
  const Node* n = row.find(key);
  return n == nullptr ? otherwise : n->as_double();
}

// The prediction of a row in the unit of its figure. NoData: the metric is not in the answer, or
// the deployment does not fit.
Range predicted(Runner& runner, const Node& row) {
  RunOptions options;
  options.breakdown = false;
  const Answer answer = runner.run(read_scenario(row.at("scenario")), options);
  const std::string name = row.at("metric").as_string();
  const Metric* m = answer.points.at(0).find(name);
  if (m == nullptr) throw NoData(answer.points.at(0).feasibility.reason + " has no " + name);
  const double seconds = m->unit == "ms" ? 1e-3 : 1;
  Range r{m->low90 * seconds, m->value * seconds, m->high90 * seconds};
  if (const Node* work = row.find("rate_of")) {
    r = {work->as_double() / r.high, work->as_double() / r.value, work->as_double() / r.low};
  }
  const double parts = number(row, "divide", 1);
  return {r.low / parts, r.value / parts, r.high / parts};
}

// Three digits or more.
std::string digits(double x) {
  return x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

struct Tally {
  int rows = 0, inside = 0;
};

// Pages that were chosen together, before any of their figures was predicted.
struct Batch {
  int sources = 0;
  std::map<std::string, Tally> engines;
  std::vector<double> errors;
  Tally all;

  void print(int number) {
    std::sort(errors.begin(), errors.end());
    for (const auto& [name, t] : engines) fmt::print("{}: {} of {}\n", name, t.inside, t.rows);
    fmt::print("batch {}: {} of {} inside, {} pages, median error {:.1f} %\n", number, all.inside,
               all.rows, sources, 100 * errors[errors.size() / 2]);
  }
};

// Prints the table of the laboratory page.
TEST(PublishedServing, IsInsideTheIntervals) {
  Runner runner{Bundle()};
  const Node document =
      read_document(fs::path(ORRERY_SOURCE_DIR) / "tests/golden/published_serving.yaml");
  std::map<int, Batch> batches;
  for (const Node& page : document.items()) {
    Batch& batch = batches[static_cast<int>(number(page, "batch", 1))];
    ++batch.sources;
    EXPECT_TRUE(page.at("source").as_string().starts_with("https://")) << page.text();
    for (const Node& row : page.at("rows").items()) {
      const std::string id = row.at("id").as_string();
      SCOPED_TRACE(id);
      const double figure = row.at("figure").as_double();
      const std::string text = row.at("engine").as_string();
      Tally& engine = batch.engines[text.substr(0, text.find(' '))];
      ++batch.all.rows, ++engine.rows;
      std::string answer;
      try {
        const Range r = predicted(runner, row);
        const bool in = r.low <= figure && figure <= r.high;
        batch.all.inside += in ? 1 : 0, engine.inside += in ? 1 : 0;
        batch.errors.push_back(std::abs(r.value / figure - 1));
        answer = fmt::format("{} | {} to {} | {:+.0f} | {} |", digits(r.value), digits(r.low),
                             digits(r.high), 100 * (r.value / figure - 1), in ? "in" : "**out**");
      } catch (const std::runtime_error& e) {
        batch.errors.push_back(1);
        answer = fmt::format("{} | | | **out** |", e.what());
      }
      fmt::print("| {} | {} | {:.6g} {} | {}\n", id, text, figure, row.at("unit").as_string(),
                 answer);
    }
  }
  int rows = 0, inside = 0, sources = 0;
  for (auto& [n, batch] : batches) {
    batch.print(n);
    rows += batch.all.rows, inside += batch.all.inside, sources += batch.sources;
  }
  EXPECT_GE(sources, 10);
  EXPECT_GE(rows, 40);
  // The bound is what was reached, rounded down (docs/accuracy.md).
  EXPECT_GE(10 * inside, 6 * rows);
}

}  // namespace
}  // namespace orrery
