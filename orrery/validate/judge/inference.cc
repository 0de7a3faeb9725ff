#include "orrery/validate/judge/inference.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/fit/engine_folds.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

// A runner for each group of rows that the fit of its engine has seen, with the constants of the
// fit without that group, and one with the constants as they are for all other rows.
class GroupRunners {
 public:
  explicit GroupRunners(const Bundle& bundle) : bundle_(bundle), all_(bundle) {}

  Runner& all() { return all_; }
  // Null: no fit has seen the row's group.
  Runner* without(const MeasuredRow& row) {
    const auto [at, is_new] = folds_.try_emplace({row.engine, row.group});
    if (is_new) {
      if (const auto bundle = bundle_without_group(bundle_, row.engine, row.group))
        at->second = std::make_unique<Runner>(*bundle);
    }
    return at->second.get();
  }

 private:
  const Bundle& bundle_;
  Runner all_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Runner>> folds_;
};

// Whether the constants of the row's engine are fitted by `orrery fit engines`, group by group.
bool left_out_by_group(const MeasuredRow& row) {
  return row.table == "single_request" || row.table == "offline_throughput";
}

}  // namespace

ValidationReport validate_inference(const std::filesystem::path& dir, const std::string& table,
                                    const Bundle& bundle, ConstantsChoice constants) {
  const std::vector<std::string> tables = {"single_request", "offline_throughput",
                                           "serving_steady"};
  ValidationReport report;
  report.area = "inference";
  if (constants == ConstantsChoice::kCommitted) report.note = kInSample;
  GroupRunners runners(bundle);
  std::vector<MeasuredRow> rows;
  bool found = false;
  for (const std::string& t : tables) {
    if ((!table.empty() && t != table) || !has_table(dir / (t + ".csv"), report)) continue;
    found = true;
    read_inference_rows(dir, t, runners.all().catalog(), rows, report.refused);
  }
  if (!found) {
    throw InputError(
        fmt::format("{}: none of the tables single_request, offline_throughput, serving_steady{}",
                    dir.string(), table.empty() ? "" : did_you_mean(table, tables)));
  }
  RunOptions options;
  options.breakdown = false;
  for (const MeasuredRow& row : rows) {
    try {
      const bool by_group = constants == ConstantsChoice::kLeftOut && left_out_by_group(row);
      Runner* without = by_group ? runners.without(row) : nullptr;
      const Answer answer = (without ? *without : runners.all()).run(row.keys.scenario(), options);
      const Point& point = answer.points.at(0);
      if (!point.feasibility.fits) throw Infeasible(point.feasibility.reason);
      for (const MeasuredFigure& figure : row.figures) {
        const Metric* m = point.find(figure.answer_name);
        if (!m) throw NoData(fmt::format("the answer has no {}", figure.answer_name));
        report.rows.push_back(report_row(row, figure, *m, row.keys));
        if (without) report.rows.back().by["fitted"] = "left out";
      }
    } catch (const std::runtime_error& e) {
      report.refused.push_back({row.reference, e.what()});
    }
  }
  return report;
}

}  // namespace orrery
