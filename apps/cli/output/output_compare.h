// Renders measured figures and their predictions.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery::cli {

// A run, what was measured of it, and what the comparison says about the differences.
struct ComparedPart {
  std::string title;
  std::vector<ComparedFigure> figures;
  std::vector<std::string> remarks;
};
// A self-contained page with a picture and a table of each part.
std::string compared_page(const std::string& title, const std::vector<ComparedPart>& parts);

// A table with one line for each figure, of at most 80 columns: measured, predicted, difference,
// interval.
std::string figures_table(const std::vector<ComparedFigure>& figures);

}  // namespace orrery::cli
