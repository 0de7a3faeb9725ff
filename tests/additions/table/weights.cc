#include "orrery/validate/judge/weights.h"

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

ValidationReport validate_weights(const std::filesystem::path& dir, const Bundle& bundle) {
  ValidationReport report;
  report.area = "weights";
  Runner runner(bundle);
  RunOptions options;
  options.memory_only = true;
  CsvReader csv(dir / "weights.csv");
  const int model = csv.column("model"), gpu = csv.column("gpu"), tp = csv.column("tp"),
            weights = csv.column("weights_gib");
  while (csv.next()) {
    ValidationRow row;
    row.row = fmt::format("weights.csv:{}", csv.line());
    row.what = fmt::format("{{model: {}, hardware: {{gpu: {}}}, parallel: {{tp: {}}}}}",
                           csv.text(model), csv.text(gpu), csv.text(tp));
    const Answer answer =
        runner.run(read_scenario(all_kinds(), parse_yaml(row.what, row.row)), options);
    row.answer = "weights";
    row.by = {{"table", "weights"}, {"metric", "weights"}};
    row.measured = csv.number(weights) * 1.073741824;
    row.predicted = answer.points.front().find("weights")->value;
    row.low50 = row.high50 = row.low90 = row.high90 = row.predicted;
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace orrery
