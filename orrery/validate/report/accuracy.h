// The report of `orrery validate`: of every area and table the errors, by whatever its rows are
// grouped by, the worst rows by name, what was refused and why, what the data themselves allow, and
// how other tools do on the same rows. Rows go in one by one and are not kept.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error_summary.h"
#include "orrery/validate/report/noise.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// The rows of a table that share a value: "system", "h100_sxm".
struct GroupErrors {
  std::string key, value;
  ErrorSummary errors;
};

// Another tool's errors (no intervals), and ours on the same rows.
struct PeerErrors {
  std::string who;
  ErrorSummary theirs, ours;
};

struct WorstRow {
  std::string row, what;
  double measured = 0, predicted = 0, low90 = 0, high90 = 0;
};

// One figure of one table: decode of single_request.
struct AccuracyTable {
  std::string table, metric;  // the metric may be empty
  std::string unit;           // of `worst`
  ErrorSummary all;
  bool intervals = false;           // whether any row has one; otherwise the coverages mean nothing
  std::vector<GroupErrors> groups;  // by key, in a fixed order, then by value
  std::vector<PeerErrors> peers;
  NoiseFloor repeats, sources;
  std::vector<WorstRow> worst;  // by how many times off, the worst first
};

struct RefusedRows {
  std::string why;
  std::size_t rows = 0;
  std::string first;
};

struct AccuracyArea {
  std::string name, about;
  std::vector<AccuracyTable> tables;  // in the order of their first rows
  std::vector<RefusedRows> refused;   // most rows first
  std::vector<std::string> remarks;
};

class AccuracyTally {
 public:
  explicit AccuracyTally(std::string area) : area_(std::move(area)) {}
  // A row whose `by` names another predictor than orrery is a peer's of the row before it.
  void add(const ValidationRow& row);
  // Everything so far; `about` is left empty.
  AccuracyArea area(const std::vector<RefusedRow>& refused) const;

 private:
  struct Table;
  std::string area_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::vector<std::shared_ptr<Table>> tables_;
  // The last row of our own.
  std::shared_ptr<Table> last_table_;
  std::string last_row_;
  double last_measured_ = 0, last_predicted_ = 0;
};

// Where a report is worst: groups of at least `rows` rows, at most `most` of them and three of a
// table.
struct WorstGroup {
  std::string area;
  const AccuracyTable* table;
  GroupErrors group;
};
// By the median error, greatest first; of groups of a table that hold the same rows only one.
std::vector<WorstGroup> worst_groups(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                     std::size_t most);
// By how far the share of rows in the 90 % interval is below 90 %; only groups below 80 %.
std::vector<WorstGroup> least_covered(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                      std::size_t most);

// [{"area", "about", "tables": [{"table", "metric", "unit", E, "groups": [{"key", "value", E}],
// "peers": [{"who", "theirs": E, "ours": E}], "noise": {"repeats"|"sources": {"questions", "best":
// E, "ours": E}}, "worst": [...]}], "refused": [{"why", "rows", "first"}], "remarks": [...]}]
nlohmann::ordered_json to_json(const std::vector<AccuracyArea>& areas);

}  // namespace orrery
