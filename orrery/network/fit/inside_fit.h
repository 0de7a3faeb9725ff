// Fits the curves of collectives within a node (cost.h) to the measured rows of one fabric.
//
// The constants of the curves of a stack and a kind of collective minimise the Huber loss (0.1) of
// ln(predicted / measured), where the prediction is the fastest of the algorithms, as in the model.
// The search is Sbplx from fixed starts. Every third message size is left out in turn; the error of
// a curve is that of the rows left out.
#pragma once

#include <vector>

#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// The largest share of a wire that a curve may have: headers and flow control take some.
inline constexpr double kMostEfficiency = 0.97;

// The curves of the library and, with `frameworks`, of the frameworks' own all-reduces.
std::vector<FittedCurve> fit_curves_inside(const FabricRows& table, bool frameworks);

// The curves of a rack that is one NVLink domain, from those of a board with the same switches. The
// step and the bandwidth of reductions in the switch are fitted to the rack's rows.
std::vector<FittedCurve> rack_curves(const FabricRows& table, std::vector<FittedCurve> board);

}  // namespace orrery
