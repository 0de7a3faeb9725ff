// Are figures of training and of networks that others published inside the 90 % intervals? The
// questions and the figures are published_training.yaml and published_network.yaml;
// docs/lab/2026-11-published-training.md has the answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/golden/published.h"

namespace orrery {
namespace published_training_test {

namespace fs = std::filesystem;

bool holds(const Node& page, std::string_view key) { return page.find(key) != nullptr; }

// The figures of a file that stand in a fit, or those that do not.
struct Tally {
  int rows = 0, inside = 0;
  std::vector<double> errors;

  void add(double error, bool in) {
    ++rows, inside += in ? 1 : 0;
    errors.push_back(std::abs(error));
  }
  double median() {
    std::sort(errors.begin(), errors.end());
    return errors.empty() ? 1 : errors[errors.size() / 2];
  }
};

// Prints the rows of the laboratory page. The key of the result is whether figures are fitted.
std::map<bool, Tally> ask(const std::string& file) {
  Runner runner{Bundle()};
  std::map<bool, Tally> tallies;
  const Node document = read_document(fs::path(ORRERY_SOURCE_DIR) / "tests/golden" / file);
  for (const Node& page : document.items()) {
    EXPECT_TRUE(page.at("source").as_string().starts_with("https://")) << page.text();
    for (const Node& row : page.at("rows").items()) {
      const std::string id = row.at("id").as_string();
      SCOPED_TRACE(id);
      const double figure = row.at("figure").as_double();
      double error = -1;
      bool in = false;
      std::string answer;
      try {
        const PublishedRange r = predicted(runner, row, false).times(number_in(row, "times", 1));
        in = r.holds(figure);
        error = r.value / figure - 1;
        answer = fmt::format("{} | {} to {} | {:+.0f} | {}", digits(r.value), digits(r.low),
                             digits(r.high), 100 * error, in ? "in" : "**out**");
      } catch (const std::runtime_error& e) {
        answer = fmt::format("{} | | | **out**", e.what());
      }
      if (!holds(row, "doubt")) tallies[holds(page, "fitted")].add(error, in);
      fmt::print("| {} | {:.6g} {} | {}{} |\n", id, figure, row.at("unit").as_string(), answer,
                 holds(row, "doubt") ? ", in doubt" : "");
    }
  }
  for (auto& [fitted, t] : tallies) {
    fmt::print("{}{}: {} of {} inside, median error {:.1f} %\n", file, fitted ? ", in a fit" : "",
               t.inside, t.rows, 100 * t.median());
  }
  return tallies;
}

// The bounds of both tests are what was reached, rounded down.
TEST(PublishedTraining, IsInsideTheIntervals) {
  std::map<bool, Tally> t = ask("published_training.yaml");
  EXPECT_GE(t[false].rows, 35);
  EXPECT_GE(10 * t[false].inside, 9 * t[false].rows);
  EXPECT_LE(t[false].median(), 0.105);
  EXPECT_GE(10 * t[true].inside, 9 * t[true].rows);
  EXPECT_LE(t[true].median(), 0.10);
}

TEST(PublishedNetwork, IsInsideTheIntervals) {
  std::map<bool, Tally> t = ask("published_network.yaml");
  EXPECT_GE(t[false].rows, 30);
  EXPECT_GE(20 * t[false].inside, 17 * t[false].rows);
  EXPECT_LE(t[false].median(), 0.10);
}

}  // namespace published_training_test
}  // namespace orrery
