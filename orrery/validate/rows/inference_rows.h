// Measured rows of data/inference, and the scenario that asks for the figures of each.
//
// The tables name systems, frameworks and number formats as their sources do. These functions
// translate the names to keys and values of a scenario; nothing else knows the sources' names. A
// row that cannot be asked (an engine or a GPU that the catalog does not have, a layout that the
// row does not state) is refused with the reason. Nothing is guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {

// The engine profile that describes a row, by its framework, version, source and the vendor of its
// GPU. NoData that names the framework: no profile describes it.
std::string engine_of_row(std::string_view framework, std::string_view version,
                          std::string_view source, const Gpu& gpu);

// A measured figure of a row and the metric of the answer that predicts it.
struct MeasuredFigure {
  std::string metric;       // the report's name: "decode", "prefill", "throughput"
  std::string answer_name;  // the name of the Answer's metric
  double value = 0;         // in the unit of the Answer's metric
};

struct MeasuredRow {
  std::string table, system, vendor, framework, family, group;
  std::string reference;  // the row's line and its source's reference: "single_request:12 a.csv"
  std::string engine;     // the engine profile
  std::string source;     // who measured it
  ScenarioKeys keys;      // the question
  // Number of different prompts that the client sends again and again, after two for each user that
  // do not count. 0: all prompts differ.
  std::int64_t prompt_pool = 0;
  std::vector<MeasuredFigure> figures;

  // Whether the row is a closed loop of users, which has a closed form and can be simulated too.
  bool is_closed_loop() const { return keys.text("workload.closed_loop") == "true"; }
};

// The question of a closed-loop row as a simulation: ten requests for each user, the first of all
// users at once, with lengths in the range (a tenth about the mean) that the benchmark draws from,
// and prompts from the row's pool.
ScenarioKeys simulated_service(const MeasuredRow& row);

// Whether the rows of a group may fit engine constants. Two thirds of the groups may, by a hash of
// the group's name; the others judge.
bool fits_engines(std::string_view group);

// One figure's row of a report. `predicted` holds the prediction with its intervals, and `asked` is
// the question that it answers; ValidationRow::what holds it as YAML.
ValidationRow report_row(const MeasuredRow& row, const MeasuredFigure& figure,
                         const Metric& predicted, const ScenarioKeys& asked);

// Reads the rows of one table ("single_request", "offline_throughput", "serving_steady",
// "serving_rate") into `rows`. Rows that the data set marks as suspect, that are out of the table's
// scope or that cannot be asked go to `refused` with the reason.
void read_inference_rows(const std::filesystem::path& dir, std::string_view table,
                         const Catalog& catalog, std::vector<MeasuredRow>& rows,
                         std::vector<RefusedRow>& refused);

}  // namespace orrery
