// Predictions that another tool made, as files.
//
// A file is a CSV with the columns scenario, metric, value and, if it has them, low90, high90 and
// at; a JSON array of objects with these keys; or what `orrery suite run -o json` prints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

struct ToolPrediction {
  std::string scenario;  // a row's source_ref, a question of a suite, or a scenario file of one
  std::string metric;    // a column of the table, or a metric of the question or answer
  std::string at;        // the point of a sweep ("osl=2048"); empty: the only one
  double value = 0;      // in the unit of what it predicts
  std::optional<double> low90, high90;  // the ends of its 90 % interval
};

// Reads the predictions of a file. InputError with the line: a missing column or key, or a value
// that is not a number.
std::vector<ToolPrediction> read_predictions(const std::filesystem::path& file);

}  // namespace orrery
