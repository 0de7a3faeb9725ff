#include "orrery/validate/judge/inference.h"

#include <fmt/format.h>

#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {

ValidationReport validate_inference(const std::filesystem::path& dir, const std::string& table,
                                    const Bundle& bundle) {
  const std::vector<std::string> tables = {"single_request", "offline_throughput",
                                           "serving_steady"};
  ValidationReport report;
  report.area = "inference";
  Runner runner(bundle);
  std::vector<MeasuredRow> rows;
  bool found = false;
  for (const std::string& t : tables) {
    if ((!table.empty() && t != table) || !has_table(dir / (t + ".csv"), report)) continue;
    found = true;
    read_inference_rows(dir, t, runner.catalog(), rows, report.refused);
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
      const Answer answer = runner.run(row.keys.scenario(), options);
      const Point& point = answer.points.at(0);
      if (!point.feasibility.fits) throw Infeasible(point.feasibility.reason);
      for (const MeasuredFigure& figure : row.figures) {
        const Metric* m = point.find(figure.answer_name);
        if (!m) throw NoData(fmt::format("the answer has no {}", figure.answer_name));
        report.rows.push_back(report_row(row, figure, *m, row.keys));
      }
    } catch (const std::runtime_error& e) {
      report.refused.push_back({row.reference, e.what()});
    }
  }
  return report;
}

}  // namespace orrery
