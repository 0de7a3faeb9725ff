// Fits the corrections of the law of kernel power (energy/power/power_surfaces.h) to readings.
//
// The target of a reading is the logarithm of it over the law's power in the measured time. A class
// of a framework on one GPU gets the smooth grid of its use (utilisations and time) first, and that
// of its sizes on what is left; both by the solver of kernel surfaces (kernel/fit/grid_fit.h), on
// axes whose nodes are two doublings apart. How stiff all grids are is one number, which is chosen
// on shapes that are held back from the shapes that a fit may see. Left-out shapes are used for the
// errors alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/energy/power/board_power.h"
#include "orrery/energy/power/power_surfaces.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

struct FittedSurfaces {
  std::map<std::string, SurfaceFile> files;  // by their path below catalog/
  double stiffness = 0;
};

// REQUIRES that `activity` and `boards` have not seen left-out rows either. `recipe` goes into the
// files.
FittedSurfaces fit_power_surfaces(const std::vector<KernelPowerRow>& rows,
                                  const KernelActivity& activity, const BoardPowers& boards,
                                  const std::string& recipe);

// The correction of a reading of the row's call; of no effect where no such call was read.
std::optional<PowerSurfaces::Correction> correction_of(const PowerSurfaces& surfaces,
                                                       const KernelPowerRow& row);

}  // namespace orrery
