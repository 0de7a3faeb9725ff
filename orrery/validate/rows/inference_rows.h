// From a measured row of ../shared/data/inference to the Scenario that asks for the same figure.
//
// The tables name systems, frameworks and precisions as their sources do; this is the one place
// that knows what they mean. A row that cannot be asked (an engine or chip that is not in the
// catalog, a layout that the row does not state) is refused with the reason, never guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Which engine profile ran a row: by framework, version, year of the source and the chip's maker.
// Throws NoData naming the framework if no profile describes it.
std::string engine_of_row(std::string_view framework, std::string_view version,
                          std::string_view source, const Gpu& gpu);

// A measured figure of a row: which metric of the answer it is compared with, and its value in that
// unit.
struct MeasuredFigure {
  std::string metric;       // as the report names it: "decode", "prefill", "throughput"
  std::string answer_name;  // the Answer's metric
  double value = 0;
};

struct MeasuredRow {
  std::string table, system, framework, family, group;
  std::string reference;  // line of the table and the source's own: "single_request:12 file.csv"
  std::string engine;     // profile
  std::string source;     // who measured it
  std::string lengths;    // of conversations, for a person
  Scenario scenario;
  std::vector<MeasuredFigure> figures;
};

// All that the row's scenario asks, on a line: rows with the same text are the same question.
std::string question_of(const MeasuredRow& row);

// A closed-loop row of serving_steady as a simulation: ten requests for each user, all users at
// once; lengths within the tenth of the mean that the benchmark draws them from.
Scenario simulated_service(const MeasuredRow& row);

// `group` decides which rows may fit engine constants: two thirds of the groups, by a hash of the
// group's name.
bool fits_engines(std::string_view group);

// One figure's row of a report; `predicted` holds the prediction and its intervals.
ValidationRow report_row(const MeasuredRow& row, const MeasuredFigure& figure,
                         const Metric& predicted);

// Reads the rows of one table ("single_request", "offline_throughput", "serving_steady",
// "serving_rate"); each is either put in `rows` or in `refused`: what the data set marks suspect,
// what is out of the table's scope, and what cannot be asked.
void read_inference_rows(const std::filesystem::path& dir, std::string_view table,
                         const Catalog& catalog, std::vector<MeasuredRow>& rows,
                         std::vector<RefusedRow>& refused);

}  // namespace orrery
