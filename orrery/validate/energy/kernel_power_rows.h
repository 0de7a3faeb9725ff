// Board power readings of repeated kernels: the table kernel_power of the measured energy tables
// (docs/data.md).
//
// A reading is the mean of NVML's power over samples 100 ms apart while the call is repeated, for a
// second where one call takes 0.1 ms and more, for 0.3 s otherwise and never more than 3,000 times
// (aiconfigurator, collector/helper.py, benchmark_with_power). NVML's figure is itself the mean of
// the last second on these GPUs. A reading thus holds part of what ran before it, and that of a
// call below 20 us little else (twin_readings.h).
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/energy/power/kernel_activity.h"
#include "orrery/hardware/catalog.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct KernelPowerRow {
  Op op;
  const KernelFamily* family = nullptr;
  std::string kernel_class;
  std::string gpu;        // id
  std::string framework;  // whose kernel it is
  std::string name;       // file and line
  Seconds time;
  Utilisation used;
  std::array<double, 4> sizes{};  // coordinates on the surface of its family (KernelPoint::x)
  Watts power, limit;
  bool left_out = false;  // a fit does not see it: 15 % of the shapes, the same on all GPUs
  bool steady = false;    // read_steady_power read it
  Hertz clock;            // mean of the multiprocessors; 0: not read
  // The reading is already a row, as a call of another family that times the same kernels. It is
  // fitted for both and judged once.
  bool again = false;
};

// Calls from this time on are judged by themselves, because their readings are mostly their own.
inline constexpr Seconds kLongCall = microseconds(100);

// The rows of `dir`/kernel_power.csv.gz. Rows of calls that the tables of kernel times leave out as
// unsound (kernel/tables) and GPUs that the catalog does not know are counted in `report`.
std::vector<KernelPowerRow> read_kernel_power(const std::filesystem::path& dir,
                                              const Catalog& catalog, ValidationReport& report);

// Readings of the table `power` of sweeps (tools/sweep/power.py), one folder of `dir` for each GPU:
// a call is repeated until the power is steady, and the reading is the difference of the board's
// energy counter, so that it holds nothing of what ran before. Calls in bursts and calls on
// matrices without random numbers are left out. A board's power between kernels, where a sweep has
// read it, is added to `awake` as a share of its limit, by the id of the GPU.
std::vector<KernelPowerRow> read_steady_power(const std::filesystem::path& dir,
                                              const Catalog& catalog, ValidationReport& report,
                                              std::map<std::string, double>& awake);

}  // namespace orrery
