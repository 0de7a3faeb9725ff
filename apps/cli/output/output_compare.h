// Renders measured figures and their predictions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery::cli {

// A table with one line for each figure, of at most 80 columns: measured, predicted, difference,
// interval.
std::string figures_table(const std::vector<ComparedFigure>& figures);

// A JSON object with the figures by name.
nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures);

}  // namespace orrery::cli
