// Compares two builds row by row: the predictions of this build with those that another build wrote
// by `orrery validate ... -o csv`.
//
// A row is changed if |now / before - 1| is above 0.1 %. Figures of the file have six digits, so
// that writing them changes no row. Rows are matched by their key (CsvRows). A row whose measured
// value differs is another measurement, and counts as one lost and one gained row.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/base/error_summary.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct BaselineRow {
  double measured = 0, predicted = 0, low50 = 0, high50 = 0, low90 = 0, high90 = 0;
  bool seen = false;
};

// The rows of a file by area (the first part of their keys), then by key. InputError with file and
// line: an absent column, a cell that is not a number, a key that is there twice, or no rows.
using Baseline = std::map<std::string, std::unordered_map<std::string, BaselineRow>>;
Baseline read_baseline(const std::filesystem::path& file);

inline constexpr double kChanged = 0.001;

struct ChangedRow {
  std::string key, what;
  double measured = 0, before = 0, after = 0;
  // Percent. A prediction of 0, such as the rate of a choice that does not fit, changes by 100 %.
  double change() const { return before > 0 ? 100 * (after / before - 1) : after > 0 ? 100 : 0; }
};

// The changes of a table (named as in the keys) between the builds.
struct TableChange {
  std::string area, table;
  std::size_t rows = 0;     // in both
  std::size_t changed = 0;  // of those
  std::size_t gained = 0, lost = 0;
  double median = 0, largest = 0;  // of the changed rows, |change| in percent
  ErrorSummary before, after;      // of the rows in both
  std::vector<ChangedRow> most;    // the most changed, largest first

  bool same() const { return changed == 0 && gained == 0 && lost == 0; }
};

// Compares the rows of one area with the baseline's rows of that area.
class BaselineComparison {
 public:
  // `before` is empty if the file has no rows of the area.
  BaselineComparison(std::string area, std::unordered_map<std::string, BaselineRow> before)
      : area_(area), keys_(std::move(area), {}), before_(std::move(before)) {}
  void add(const ValidationRow& row);
  // The changes of each table. Rows of the baseline that were not added count as lost. `table`
  // names the only table that was validated; empty: all were.
  std::vector<TableChange> changes(const std::string& table = "") const;

 private:
  struct Table {
    TableChange change;
    std::vector<double> percent;
    ErrorSample before, after;
  };
  std::string area_;
  CsvRows keys_;
  std::unordered_map<std::string, BaselineRow> before_;
  std::map<std::string, Table> tables_;
};

// {"same": bool, "tables": [{"area", "table", "rows", "changed", "gained", "lost",
// "median_change", "largest_change", "before": E, "after": E, "most": [...]}]}
nlohmann::ordered_json to_json(const std::vector<TableChange>& changes);

}  // namespace orrery
