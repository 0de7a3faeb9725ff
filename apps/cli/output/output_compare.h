// Renders measured figures and their predictions.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery::cli {

// A table with one line for each figure, of at most 80 columns: measured, predicted, difference,
// interval.
std::string figures_table(const std::vector<ComparedFigure>& figures);

}  // namespace orrery::cli
