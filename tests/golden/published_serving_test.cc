// Are serving figures that others published inside the 90 % intervals? The questions and the
// figures are published_serving.yaml; docs/lab/2026-11-published-serving.md has the answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/golden/published.h"

namespace orrery {
namespace published_serving_test {

namespace fs = std::filesystem;

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
    Batch& batch = batches[static_cast<int>(number_in(page, "batch", 1))];
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
        const PublishedRange r =
            predicted(runner, row, true).times(1 / number_in(row, "divide", 1));
        const bool in = r.holds(figure);
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

}  // namespace published_serving_test
}  // namespace orrery
