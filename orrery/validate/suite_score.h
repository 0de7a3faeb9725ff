// Scores another tool's predictions: against measured rows where there are any, against the checks
// of a suite elsewhere.
//
// Predictions are a CSV with the columns scenario, metric, value and, if it has them, low90, high90
// and at; or a JSON array of objects with these keys.
//   measured   scenario is the source_ref of a row of a table in the data folder, metric one of its
//              columns (ttft_ms): errors in percent of the measured value, and how often the
//              interval holds it
//   bounds     scenario is a scenario file of a suite (I1.1), metric a metric of its answer (tpot),
//              at a point of its sweep ("osl=2048"): a check of the suite is judged where all that
//              it names is predicted
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orrery/validate/errors.h"
#include "orrery/validate/suite.h"
#include "orrery/validate/suite_coverage.h"

namespace orrery {

struct ToolPrediction {
  std::string scenario, metric, at;
  double value = 0;
  std::optional<double> low90, high90;
};
// InputError with the line: a missing column, a number that is none.
std::vector<ToolPrediction> read_predictions(const std::filesystem::path& file);

struct ToolScore {
  std::map<std::string, ErrorSummary> by_metric;  // coverage90: of rows with an interval
  std::map<std::string, std::size_t> intervals;   // rows that have one
  struct Bound {
    std::string question, claim, seen;
    bool holds = false;
  };
  std::vector<Bound> bounds;
  std::size_t unmatched = 0;  // predictions of nothing that is known
  std::string first_unmatched;
  std::vector<std::string> silent;  // questions declared in full, nothing of them predicted
};

// `data`: a folder of tables, searched for source_ref; empty: none. `declared`: what the tool says
// that it supports; nullptr: not said.
ToolScore score(const std::vector<ToolPrediction>& predictions, const std::filesystem::path& data,
                const std::vector<Suite>& suites, const ToolCoverage* declared);

nlohmann::ordered_json to_json(const ToolScore& score);

}  // namespace orrery
