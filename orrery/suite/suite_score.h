// Scores another tool's predictions: against measured rows where there are any, against physical
// bounds elsewhere.
//
// Predictions are read by read_predictions (tool_predictions.h). The scenario of one says what it
// is compared with:
//
//   measured   scenario is the source_ref of a row of a table in the data folder, metric one of its
//              columns (ttft_ms): errors in percent of the measured value, and how often the
//              interval holds it
//   question   scenario is a question of a suite (T1.1), metric one that it asks for (latency)
//   file       scenario is a scenario file of a suite (T1.1-standard), metric one of its answer
//              (attention_block)
// `at` is the point of a sweep ("osl=2048"). Values of the last two must lie within the bounds that
// physics sets (suite_bounds.h, and `bounds` of the suite); and a check of the suite is judged
// where all that it names is predicted.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/base/error_summary.h"
#include "orrery/suite/suite.h"
#include "orrery/suite/suite_bounds.h"
#include "orrery/suite/suite_coverage.h"
#include "orrery/suite/tool_predictions.h"

namespace orrery {

struct ToolScore {
  std::map<std::string, ErrorSummary> by_metric;  // coverage90: of rows with an interval
  std::map<std::string, std::size_t> intervals;   // rows that have one

  enum class Place { kInside, kBelow, kAbove, kUnbounded };
  struct Bounded {
    ToolPrediction prediction;
    SuiteRange range;
    Place place = Place::kInside;
  };
  std::vector<Bounded> bounded;  // in the order of the predictions
  std::size_t count(Place place) const;

  struct Check {
    std::string question, claim, seen;
    bool holds = false;
  };
  std::vector<Check> checks;

  std::size_t unmatched = 0;  // predictions of unknown rows or questions
  std::string first_unmatched;

  // For each question of all suites, the number of its metrics that are predicted, directly or
  // through the metrics that they are computed from.
  struct Covered {
    std::string suite, question;
    std::size_t predicted = 0, metrics = 0;
    bool full() const { return predicted == metrics; }
  };
  std::vector<Covered> covered;         // those with any, or declared
  std::vector<std::string> silent;      // questions declared in full, but not predicted in full
  std::vector<std::string> undeclared;  // predicted in full, but not declared
};

// Scores predictions. `data`: a folder of tables, searched for source_ref; empty: none. `declared`:
// the coverage that the tool claims; nullptr: none. `runner` answers the scenario files whose
// bounds are needed.
ToolScore score(const std::vector<ToolPrediction>& predictions, const std::filesystem::path& data,
                const std::vector<Suite>& suites, const ToolCoverage* declared, Runner& runner);

std::string_view to_text(ToolScore::Place place);
nlohmann::ordered_json to_json(const ToolScore& score);

}  // namespace orrery
