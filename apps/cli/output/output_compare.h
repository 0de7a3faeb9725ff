// Renders measured figures and their predictions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery::cli {

// One line a figure, at most 80 columns: measured, predicted, difference, interval.
std::string figures_table(const std::vector<ComparedFigure>& figures);

// The figures by their names.
nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures);

}  // namespace orrery::cli
