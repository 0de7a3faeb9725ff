// `orrery fit energy`: the constants of kernel_activity.h and board_power.h, fitted on readings of
// board power (kernel_power_rows.h), of which a steady one counts as kSteadyWeight others.
//
// The awake power of a GPU is that which a sweep has read, or the 2 % quantile of the readings of
// its long calls, most of which wait for the host. The constants of a class minimise the absolute
// error of the logarithm of the power, by reweighted least squares over non-negative values
// (activity_solver.h). A reading at the limit asks only that the demanded power be above it. A
// class of a framework is drawn to the class of all frameworks, that to its family, and a family to
// all kernels, as strongly as by kPriorCalls readings.
//
// Left-out shapes are not fitted; the error of a class is that of its left-out long calls, or the
// family's where there are few. The shared error is what whole classes of a GPU are off by under
// constants that were fitted on the other GPUs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/energy/power/board_power.h"
#include "orrery/energy/power/kernel_activity.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

struct FittedPower {
  KernelActivity activity;
  BoardPowers boards;
};

// Readings of kernels, and the awake power of boards where it was read, as shares of their limits.
struct PowerReadings {
  std::vector<KernelPowerRow> rows;
  std::map<std::string, double> awake;
};
// The readings of `dir` (read_kernel_power) and of the repository's own tables (read_steady_power).
PowerReadings read_power(const std::filesystem::path& dir, const Catalog& catalog,
                         ValidationReport& report);

// The fit on the rows of all GPUs but `without`, whose board is not used either. `shared_error` is
// KernelActivity's. InputError: no row is left.
FittedPower fit_power(const PowerReadings& readings, std::string_view without, double shared_error);

// The predicted power of a call in the measured time.
Watts predicted_power(const KernelPowerRow& row, const KernelActivity& activity,
                      const BoardPower& board);

// Paths below catalog/ ("power/kernels.yaml") and the text of each file. Four steps are parts of
// `meter`, which may be null.
std::vector<std::pair<std::string, std::string>> fit_energy(const std::filesystem::path& dir,
                                                            const std::string& date,
                                                            const Bundle& bundle,
                                                            PartMeter* meter = nullptr);

}  // namespace orrery
