#include "orrery/scenario/kinds/training/calibration_runs.h"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/scenario/kinds/training/training_layout.h"

namespace orrery {
namespace {

constexpr const char* kTime = "iteration_time";
constexpr const char* kThroughput = "throughput";
constexpr const char* kModel = "model";

double positive(const CsvReader& csv, int column) {
  const double value = csv.number(column);
  if (!(value > 0)) csv.fail(column, fmt::format("must be above 0, got {}", value));
  return value;
}

}  // namespace

std::vector<CalibrationRun> read_calibration_runs(const std::string& file,
                                                  const TrainingQuestion& question) {
  CsvReader csv{std::filesystem::path(file)};
  const auto time = csv.find(kTime), throughput = csv.find(kThroughput), model = csv.find(kModel);
  if (!time && !throughput)
    throw InputError(
        fmt::format("{}:1: no column {} (seconds) or {} (tokens/s)", file, kTime, kThroughput));
  std::vector<CalibrationRun> runs;
  while (csv.next()) {
    CalibrationRun run;
    run.place = fmt::format("{}:{}", file, csv.line());
    run.question = question;
    run.question.calibration_runs.clear();
    run.question.find_max_batch = false;
    Node document;
    for (std::size_t c = 0; c < csv.header().size(); ++c) {
      const int column = static_cast<int>(c);
      if (column == time || column == throughput || column == model || csv.empty(column)) continue;
      const std::string& key = csv.header()[c];
      set_path(document, key,
               scalar_node(std::string(csv.text(column)), fmt::format("{}: {}", run.place, key)));
    }
    if (model) run.model = csv.text(*model);
    Fields fields;
    declare(fields, run.question);
    if (document.is_map()) fields.read(document);
    if (!run.question.calibration_runs.empty())
      csv.fail(*csv.find("own_runs"), "a run has no runs of its own");
    try {
      run.job = layout_of(run.question);
    } catch (const std::runtime_error& e) {
      throw InputError(fmt::format("{}: {}", run.place, e.what()));
    }
    const double tokens = static_cast<double>(run.job.global_batch * run.job.seq);
    run.time = time ? Seconds(positive(csv, *time)) : Seconds(tokens / positive(csv, *throughput));
    runs.push_back(std::move(run));
  }
  if (runs.empty()) throw InputError(fmt::format("{}: no run", file));
  return runs;
}

}  // namespace orrery
