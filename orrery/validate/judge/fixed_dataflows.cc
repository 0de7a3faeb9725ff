#include "orrery/validate/judge/fixed_dataflows.h"

#include <fmt/format.h>

#include <utility>

#include "orrery/accelerator/systolic/systolic_array.h"
#include "orrery/base/csv.h"

namespace orrery {
namespace {

void add_row(const std::string& table, const std::string& metric, const std::string& row,
             std::pair<double, double> measured_predicted, ValidationReport& report) {
  const auto [measured, predicted] = measured_predicted;
  if (measured == 0 && predicted == 0) return;  // errors are relative to the measured value
  ValidationRow r;
  r.by = {{"table", table}, {"metric", metric}};
  r.row = r.what = row;
  r.measured = measured;
  r.predicted = r.low50 = r.high50 = r.low90 = r.high90 = predicted;
  r.origin = Origin::kExact;
  report.rows.push_back(std::move(r));
}

SystolicArray read_array(const CsvReader& csv) {
  SystolicArray a;
  a.rows = csv.integer(csv.column("array_rows"));
  a.columns = csv.integer(csv.column("array_cols"));
  const int dataflow = csv.column("dataflow");
  if (csv.text(dataflow) == "os") {
    a.dataflow = SystolicDataflow::kOutputStationary;
  } else if (csv.text(dataflow) == "ws") {
    a.dataflow = SystolicDataflow::kWeightStationary;
  } else if (csv.text(dataflow) == "is") {
    a.dataflow = SystolicDataflow::kInputStationary;
  } else {
    csv.fail(dataflow, "expected os, ws or is");
  }
  const int mode = csv.column("mode");
  a.stall_free = csv.text(mode) == "CALC";
  if (!a.stall_free && csv.text(mode) != "USER") csv.fail(mode, "expected CALC or USER");
  a.write_bandwidth = csv.integer(csv.column("bandwidth_words_per_cycle"));
  const auto words = [&](const char* column) { return 1024 * csv.integer(csv.column(column)); };
  a.input_words = words("ifmap_sram_kb");
  a.filter_words = words("filter_sram_kb");
  a.output_words = words("ofmap_sram_kb");
  return a;
}

// A percentage as the tool prints it, with six digits behind the point.
double printed(double share) { return std::stod(fmt::format("{:.6f}", 100 * share)); }

void judge_systolic(const std::filesystem::path& file, ValidationReport& report) {
  CsvReader csv(file);
  while (csv.next()) {
    const MatrixProduct product{csv.integer(csv.column("M")), csv.integer(csv.column("N")),
                                csv.integer(csv.column("K"))};
    const SystolicRun run = run_systolic(read_array(csv), product);
    const std::pair<const char*, double> results[] = {
        {"total_cycles", real(run.cycles)},
        {"stall_cycles", real(run.stalls)},
        {"overall_util_percent", printed(run.utilization)},
        {"mapping_efficiency_percent", printed(run.mapping_efficiency)},
        {"compute_util_percent", printed(run.compute_utilization)},
        {"ifmap_sram_reads", real(run.input_reads)},
        {"filter_sram_reads", real(run.filter_reads)},
        {"ofmap_sram_writes", real(run.output_writes)},
        {"ifmap_dram_reads", real(run.input_fetches)},
        {"filter_dram_reads", real(run.filter_fetches)},
        {"ofmap_dram_writes", real(run.output_drains)}};
    const std::string row = fmt::format("{}:{}", file.filename().string(), csv.line());
    for (const auto& [column, ours] : results) {
      add_row("scalesim_systolic", column, row, {csv.number(csv.column(column)), ours}, report);
    }
  }
}

}  // namespace

void judge_fixed_dataflows(const std::filesystem::path& dir, const std::string& table,
                           ValidationReport& report) {
  if (!table.empty() && table != "scalesim_systolic") return;
  const std::filesystem::path file = dir / "scalesim_systolic.csv";
  if (has_table(file, report)) judge_systolic(file, report);
}

}  // namespace orrery
