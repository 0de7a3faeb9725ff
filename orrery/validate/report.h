// Errors of predictions against measured rows, in the form that every `orrery validate AREA`
// prints.
//
// A row is one measured figure and its prediction. Errors are in percent of the measured value:
//   mape    mean |predicted - measured| / measured        median, p90: of the same
//   bias    mean (predicted - measured) / measured
//   coverage50, coverage90   share of rows whose measured value lies in the 50 % and 90 % interval
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"

namespace orrery {

struct ValidationRow {
  // What the row is grouped by, such as table, metric, system, framework, family, fitted.
  std::map<std::string, std::string> by;
  std::string row;  // names the measured row: file and line, or the source's reference
  double measured = 0, predicted = 0;
  double low50 = 0, high50 = 0, low90 = 0, high90 = 0;
  Origin origin = Origin::kAnalytical;
};

struct RefusedRow {
  std::string row, why;
};

struct ErrorSummary {
  std::size_t n = 0;
  double mape = 0, median = 0, p90 = 0, bias = 0;  // percent
  double coverage50 = 0, coverage90 = 0;           // percent of rows
};

struct ValidationReport {
  std::string area;
  std::vector<ValidationRow> rows;
  std::vector<RefusedRow> refused;
};

ErrorSummary summarise(const std::vector<const ValidationRow*>& rows);

// {"area", "rows", "refused": [{"row", "why"}], "pooled": G, "groups": [{"by": {...}, ...G}]}; one
// group for each distinct `by`, and one for each (table, metric) and (table, metric, fitted).
nlohmann::ordered_json to_json(const ValidationReport& report);

// Tables for docs/accuracy.md: for each table and metric the errors in all, by whether the rows
// fitted, by engine, system and family; then why rows were refused.
std::string to_markdown(const ValidationReport& report);

// One line a row: the keys of `by`, row, measured, predicted, interval, tier.
std::string to_csv(const ValidationReport& report);

}  // namespace orrery
