// The choice of the calls that are worth measuring on a new GPU: those that tell most about all
// others.
//
// Before anything is measured, the places of calls (calibration.h) already tell how far a measured
// call will inform the others: errors of neighbours are alike. Calls are chosen one after the
// other, each the one that lowers the expected error over all candidates most, given those chosen
// before. Points of classes that run like kernels (the same format in another engine) inform, too,
// so that engines share the work instead of repeating one another's sizes. The choice is
// deterministic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/kernel/tiers/calibration.h"

namespace orrery {

// Indices of `count` of the candidates, in the order of choice; all of them if there are no more.
// `places`: number of coordinates of a place in use. `related`: the places that were chosen in each
// related class.
std::vector<std::size_t> choose_points(std::span<const CalibrationPlace> candidates,
                                       std::size_t count, std::size_t places,
                                       std::span<const std::vector<CalibrationPlace>> related = {});

}  // namespace orrery
