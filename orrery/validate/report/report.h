// Errors of predictions against measured rows, in the form that every `orrery validate AREA`
// prints.
//
// A row is one measured figure and its prediction. Errors are in percent of the measured value:
//   mape    mean |predicted - measured| / measured        median, p90: of the same
//   bias    mean (predicted - measured) / measured
//   coverage50, coverage90   share of rows whose measured value lies in the 50 % and 90 % interval
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/base/error_summary.h"
#include "orrery/base/estimate.h"

namespace orrery {

struct ValidationRow {
  // The keys by which rows are grouped, such as table, metric, system, framework, family, fitted.
  std::map<std::string, std::string> by;
  std::string row;  // the name of the measured row: file and line, or the source's reference
  double measured = 0, predicted = 0;
  double low50 = 0, high50 = 0, low90 = 0, high90 = 0;
  Origin origin = Origin::kAnalytical;
  // The whole question: a scenario on one line of YAML where a scenario can ask it, elsewhere words
  // that say why not. Empty: not stated.
  std::string what{};
  std::string source{};                   // who measured it, where tables have several
  std::map<std::string, double> peers{};  // predictions of other tools for the same row
  // The metric of the scenario's answer that is `predicted`; empty where `what` is in words.
  std::string answer{};
  // Rows with the same text are measurements of the same thing, whoever's software was measured.
  // Empty: rows with the same `what` are.
  std::string same{};
};

struct RefusedRow {
  std::string row, why;
  std::size_t rows = 1;  // number of rows refused for this reason; `row` names the first
};

struct ValidationReport {
  std::string area;
  std::vector<ValidationRow> rows;
  std::vector<RefusedRow> refused;
  // Tables that the folder does not have, in a sentence each. Their rows are missing; nothing else
  // is affected.
  std::vector<std::string> skipped;
  std::string note{};  // sentences that hold for every figure, or sum some up; empty: none
};

// Whether `file`, a table of the report's area, exists. If it does not, the report notes that the
// table was skipped.
bool has_table(const std::filesystem::path& file, ValidationReport& report);

// Who predicted the row: "orrery", or another predictor that the row names in `by` (under
// `predictor`; in the area network under `table`).
std::string predictor_of(const std::string& area, const ValidationRow& row);

ErrorSummary summarise(const std::vector<const ValidationRow*>& rows);

// The errors of a report in groups, without the rows.
struct ErrorGroup {
  std::map<std::string, std::string> by;
  ErrorSummary errors;
  std::optional<double> roofline;  // mape of max(flops/peak, bytes/bandwidth) on the same rows
  bool detail = false;             // whether tables for people leave the group out
};
struct ErrorReport {
  std::string area;
  std::vector<RefusedRow> refused;
  std::vector<std::string> skipped;  // as in ValidationReport
  std::string note{};                // as in ValidationReport
  ErrorGroup pooled;                 // the errors of every row that orrery predicted
  // The errors of every row of another predictor, such as a baseline, whose name `by` holds under
  // predictor.
  std::vector<ErrorGroup> others;
  std::vector<ErrorGroup> groups;
};

// One group for each distinct `by`, and one for each (table, metric), (table, metric, fitted),
// (table, metric, seen), (table, metric, engine), (table, metric, vendor) and (table, metric,
// vendor, seen). Predictors are pooled one by one.
ErrorReport grouped(const ValidationReport& report);

// {"area", "note", "rows", "refused": [{"row", "why"}], "skipped": ["..."], "pooled": G, "others":
// [{"by": {"predictor"}, ...G}], "groups": [{"by": {...}, ...G}]}. "rows" counts orrery's own, as
// "pooled" does; "note", "skipped" and "others" are there where they are not empty. Where many rows
// are refused for one reason the entry has "rows", and where the roofline is known G has
// "roofline_mape".
nlohmann::ordered_json to_json(const ErrorReport& report);
nlohmann::ordered_json to_json(const ValidationReport& report);

// The same with "cases": an entry {"by", "row", "measured", "predicted"} for each row, with the
// predictions of other tools as "peers" where there are any. Numbers are the shortest that read
// back as the same double.
nlohmann::ordered_json to_json_with_rows(const ValidationReport& report);

// One Markdown table for each `table` of the groups, details left out; then what was refused.
std::string to_markdown(const ErrorReport& report);

// Rows as csv: key, the keys of `by` in `names`, row, measured, predicted, the ends of both
// intervals, tier, question (`what`) and the metric of its answer. Measured and predicted values
// are the shortest numbers that read back as the same double; the ends of intervals have six
// digits, except where an interval has no width.
//
// The key names a row in every build that reads the same tables:
// "area/table/metric/predictor/place". The place is `row` up to the first blank
// ("iteration.csv:31"). Several rows of one place (draws) are numbered: "...#2". The key contains
// nothing that depends on the build (tier, engine profile).
class CsvRows {
 public:
  CsvRows(std::string area, std::set<std::string> names)
      : area_(std::move(area)), names_(std::move(names)) {}
  static std::string header(std::set<std::string> names);
  std::string line(const ValidationRow& row);
  std::string key(const ValidationRow& row);  // of the next row: counts

 private:
  std::string area_;
  std::set<std::string> names_;
  std::unordered_map<std::string, int> seen_;
};

}  // namespace orrery
