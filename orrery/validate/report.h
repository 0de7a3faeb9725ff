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
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/validate/errors.h"

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
  std::size_t rows = 1;  // refused for this reason; more than one: `row` names the first
};

struct ValidationReport {
  std::string area;
  std::vector<ValidationRow> rows;
  std::vector<RefusedRow> refused;
};

ErrorSummary summarise(const std::vector<const ValidationRow*>& rows);

// The errors of a report in groups, without the rows.
struct ErrorGroup {
  std::map<std::string, std::string> by;
  ErrorSummary errors;
  std::optional<double> roofline;  // mape of max(flops/peak, bytes/bandwidth) on the same rows
  bool detail = false;             // left out of tables for people: there are hundreds
};
struct ErrorReport {
  std::string area;
  std::vector<RefusedRow> refused;
  ErrorGroup pooled;
  std::vector<ErrorGroup> groups;
};

// One group for each distinct `by`, and one for each (table, metric) and (table, metric, fitted).
ErrorReport grouped(const ValidationReport& report);

// {"area", "rows", "refused": [{"row", "why"}], "pooled": G, "groups": [{"by": {...}, ...G}]};
// where many rows are refused for one reason the entry has "rows", and where the roofline is known
// G has "roofline_mape".
nlohmann::ordered_json to_json(const ErrorReport& report);
nlohmann::ordered_json to_json(const ValidationReport& report);

// One Markdown table for each `table` of the groups, details left out; then what was refused.
std::string to_markdown(const ErrorReport& report);

// Tables for docs/accuracy.md: for each table and metric the errors in all, by whether the rows
// fitted, by engine, system and family; then why rows were refused.
std::string to_markdown(const ValidationReport& report);

// One line a row: the keys of `by`, row, measured, predicted, interval, tier.
std::string to_csv(const ValidationReport& report);
// The same line by line, where there are too many rows to keep. `names`: the keys of `by`.
std::string csv_header(const std::set<std::string>& names);
std::string csv_line(const std::set<std::string>& names, const ValidationRow& row);

}  // namespace orrery
