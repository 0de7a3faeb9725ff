#include "orrery/validate/judge/fixed_dataflows.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "orrery/accelerator/dataflow/directive_model.h"
#include "orrery/accelerator/systolic/systolic_array.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/validate/rows/maestro_rows.h"

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

// The accesses that the record counts.
DirectiveCost recorded_accesses(const std::map<std::string, double>& figures) {
  const auto accesses = [&](const std::string& tensor) {
    return TensorAccesses{figures.at(tensor + "_l1_read"), figures.at(tensor + "_l1_write"),
                          figures.at(tensor + "_l2_read"), figures.at(tensor + "_l2_write")};
  };
  DirectiveCost cost;
  cost.input = accesses("input");
  cost.filter = accesses("filter");
  cost.output = accesses("output");
  return cost;
}

std::vector<std::pair<std::string, double>> predicted_figures(const DirectiveCost& c) {
  std::vector<std::pair<std::string, double>> figures = {
      {"runtime_cycles", c.cycles},
      {"throughput_macs_cycle", c.multiply_adds / c.cycles},
      {"noc_bw_req_elements_cycle", c.peak_bandwidth},
      {"avg_bw_req", c.mean_bandwidth},
      {"peak_bw_req", c.peak_bandwidth},
      {"offchip_bw_req_elements_cycle", c.offchip_bandwidth},
      {"l2_sram_size_req_bytes", c.l2_words},
      {"l1_sram_size_req_bytes", c.l1_words},
      {"multicasting_factor_weight", c.filter.l1_writes / c.filter.l2_reads},
      {"multicasting_factor_input", c.input.l1_writes / c.input.l2_reads},
      {"num_macs", c.multiply_adds},
      {"avg_number_of_utilized_pes", c.units},
      {"arithmetic_intensity", c.arithmetic_intensity}};
  const std::pair<const char*, const TensorAccesses*> tensors[] = {
      {"input", &c.input}, {"filter", &c.filter}, {"output", &c.output}};
  for (const auto& [name, t] : tensors) {
    figures.emplace_back(fmt::format("{}_l1_read", name), t->l1_reads);
    figures.emplace_back(fmt::format("{}_l1_write", name), t->l1_writes);
    figures.emplace_back(fmt::format("{}_l2_read", name), t->l2_reads);
    figures.emplace_back(fmt::format("{}_l2_write", name), t->l2_writes);
  }
  return figures;
}

void judge_maestro(const std::filesystem::path& dir, ValidationReport& report) {
  const std::string table = "maestro_layers", energy = "activity_count_based_energy_nj";
  const auto failed = [&](const std::string& id, const std::string& why) {
    report.refused.push_back({id, why});
  };
  const std::vector<MaestroRow> rows = read_maestro_rows(dir, failed);
  std::vector<double> l1_energies(rows.size(), 0);
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MaestroRow& row = rows[i];
    DirectiveMachine machine;
    machine.units = row.units;
    DirectiveCost cost;
    try {
      cost = evaluate_directives(row.layer, machine);
    } catch (const InputError& e) {
      failed(row.id, e.what());
      continue;
    }
    for (const auto& [column, ours] : predicted_figures(cost)) {
      add_row(table, column, row.id, {row.figures.at(column), ours}, report);
    }
    const DirectiveCost recorded = recorded_accesses(row.figures);
    add_row(table, "energy_of_accesses_nj", row.id,
            {l1_energy(recorded) + l2_energy(recorded), l1_energy(cost) + l2_energy(cost)}, report);
    l1_energies[i] = l1_energy(cost);
    if (row.clustered && row.before < 0) {
      ++unknown;
      continue;
    }
    const double l1 = row.clustered ? l1_energies[index(row.before)] : l1_energies[i];
    add_row(table, energy, row.id, {row.figures.at(energy), l1 + l2_energy(cost)}, report);
  }
  if (unknown > 0) {
    report.refused.push_back(
        {energy,
         "the tool's energy of a clustered dataflow has the L1 accesses of the "
         "layer before it in the file, which is not among the rows",
         unknown});
  }
}

}  // namespace

void judge_fixed_dataflows(const std::filesystem::path& dir, const std::string& table,
                           ValidationReport& report) {
  const auto wanted = [&](const char* name) { return table.empty() || table == name; };
  if (wanted("scalesim_systolic")) {
    const std::filesystem::path file = dir / "scalesim_systolic.csv";
    if (has_table(file, report)) judge_systolic(file, report);
  }
  if (wanted("maestro_layers")) {
    const bool both = has_table(dir / "maestro_layers.csv", report) &&
                      has_table(dir / "maestro_dataflows.json", report);
    if (both) judge_maestro(dir, report);
  }
}

}  // namespace orrery
