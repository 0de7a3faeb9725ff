// The report of `orrery validate`. For every table it holds the errors of all rows and of groups of
// rows, the worst rows by name, the reasons for refused rows, the noise of the measurements and the
// errors of other tools on the same rows. Rows are added one by one and are not kept.
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

// The errors of the rows of a table that share a value, such as "h100_sxm" of the key "system".
struct GroupErrors {
  std::string key, value;
  ErrorSummary errors;
};

// The errors of another tool, which has no intervals, and ours on the same rows.
struct PeerErrors {
  std::string who;
  ErrorSummary theirs, ours;
};

struct WorstRow {
  std::string row, what;
  double measured = 0, predicted = 0, low90 = 0, high90 = 0;
};

// The errors of one figure of one table, such as decode of single_request.
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
  // Adds a row. A row of another predictor than orrery (predictor_of) is a peer's prediction for
  // the last row of orrery.
  void add(const ValidationRow& row);
  // The report of all rows added so far, with an empty `about`.
  AccuracyArea area(const std::vector<RefusedRow>& refused) const;

 private:
  struct Table;
  std::string area_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::vector<std::shared_ptr<Table>> tables_;
  // The last row that orrery predicted.
  std::shared_ptr<Table> last_table_;
  std::string last_row_;
  double last_measured_ = 0, last_predicted_ = 0;
};

// A group of rows with large errors.
struct WorstGroup {
  std::string area;
  const AccuracyTable* table;
  GroupErrors group;
};
// The groups with the greatest median errors, greatest first: groups of at least `rows` rows, at
// most `most` in all and three of a table. Groups that hold the same rows appear once.
std::vector<WorstGroup> worst_groups(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                     std::size_t most);
// The groups with the smallest share of rows in the 90 % interval, of those below 80 %; otherwise
// as worst_groups.
std::vector<WorstGroup> least_covered(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                      std::size_t most);

// [{"area", "about", "tables": [{"table", "metric", "unit", E, "groups": [{"key", "value", E}],
// "peers": [{"who", "theirs": E, "ours": E}], "noise": {"repeats"|"sources": {"questions", "best":
// E, "ours": E}}, "worst": [...]}], "refused": [{"why", "rows", "first"}], "remarks": [...]}]
nlohmann::ordered_json to_json(const std::vector<AccuracyArea>& areas);

}  // namespace orrery
