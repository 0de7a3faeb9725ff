// The drawing of measured figures and their predictions.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery::face {

// The prediction of each figure with its 90 % interval, in percent of the measured value, as an
// element of a page; empty without figures.
std::string draw_compared(const std::vector<ComparedFigure>& figures);

}  // namespace orrery::face
