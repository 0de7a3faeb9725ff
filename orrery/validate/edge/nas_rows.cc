#include "orrery/validate/edge/nas_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/csv.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/nas_spaces.h"

namespace orrery {
namespace {

constexpr const char* kTable = "cnn_nas.csv.gz";
constexpr const char* kColumns = "cnn_nas_columns.csv";
// Rates are not known; all differences between devices are learnt from measurements.
constexpr double kUnknownRate = 0;

struct NasColumn {
  std::string name;
  EdgeRun run;
  double batch = 1;
  NasZeros zeros = NasZeros::kExecuted;
};

std::vector<NasColumn> read_columns(const std::filesystem::path& file) {
  std::vector<NasColumn> columns;
  CsvReader csv(file);
  const int column = csv.column("column"), device = csv.column("device"),
            batch = csv.column("batch");
  while (csv.next()) {
    NasColumn c;
    c.name = csv.text(column);
    c.run.device = csv.text(device);
    c.run.processor = c.name;
    c.run.gpu = c.run.device.starts_with("NVIDIA");
    c.batch = csv.number(batch);
    c.run.facts.numbers = {{"rate", kUnknownRate}, {"batch", std::log(c.batch)}};
    if (c.run.gpu) {
      c.run.facts.numbers.push_back({"gpu", 1});
    } else if (!c.run.device.starts_with("Intel")) {
      c.run.facts.numbers.push_back({"phone", 1});
    }
    if (c.run.device.find("HW-NAS-Bench") != std::string::npos) c.zeros = NasZeros::kLeftOut;
    columns.push_back(std::move(c));
  }
  return columns;
}

// A batch repeats all work but that of starting kernels and reading weights.
EdgeWork batched(EdgeWork work, double batch) {
  for (std::size_t k = 0; k < work.size(); ++k) {
    const std::string_view unit = edge_work_kinds()[k].unit;
    if (unit == "MMAC" || unit == "M elements") work[k] *= batch;
  }
  return work;
}

EdgeWork work_of_architecture(std::string_view space, std::string_view text, NasZeros zeros) {
  return work_of(fuse(nas_graph(space, text, zeros),
                      fusion_rules(zeros == NasZeros::kLeftOut ? "tflite" : "none")),
                 EdgePrecision::kFloat);
}

}  // namespace

std::vector<NasSpace> read_nas_runs(const std::filesystem::path& dir, ValidationReport& report) {
  const std::vector<NasColumn> columns = read_columns(dir / kColumns);
  std::map<std::string, std::vector<EdgeRun>> spaces;
  CsvReader csv(dir / kTable);
  const int space_column = csv.column("space"), arch = csv.column("arch");
  std::vector<int> at;
  for (const NasColumn& c : columns) at.push_back(csv.column(c.name));
  std::size_t nothing = 0;
  while (csv.next()) {
    const std::string space(csv.text(space_column)), text(csv.text(arch));
    std::vector<EdgeRun>& runs = spaces[space];
    if (runs.empty())
      for (const NasColumn& c : columns) runs.push_back(c.run);
    std::map<NasZeros, EdgeWork> works;
    for (const NasZeros zeros : {NasZeros::kExecuted, NasZeros::kLeftOut})
      works[zeros] = work_of_architecture(space, text, zeros);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (csv.empty(at[i])) continue;
      const EdgeWork work = batched(works.at(columns[i].zeros), columns[i].batch);
      const Seconds time = milliseconds(csv.number(at[i]));
      if (time <= Seconds(0) ||
          std::all_of(work.begin(), work.end(), [](double w) { return w == 0; })) {
        ++nothing;
        continue;
      }
      runs[i].rows.push_back(
          {"", text, work, time, fmt::format("{}:{} {}", kTable, csv.line(), columns[i].name)});
    }
  }
  if (nothing > 0)
    report.refused.push_back({kTable, "an architecture that computes nothing", nothing});
  std::vector<NasSpace> out;
  for (auto& [name, runs] : spaces) {
    std::erase_if(runs, [](const EdgeRun& r) { return r.rows.empty(); });
    out.push_back({name, std::move(runs)});
  }
  return out;
}

}  // namespace orrery
