#include "orrery/validate/energy/judge_energy.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "orrery/base/error.h"
#include "orrery/energy/power/power_model.h"
#include "orrery/validate/energy/fit_energy.h"
#include "orrery/validate/energy/twin_readings.h"

namespace orrery {
namespace {

constexpr const char* kKernels = "kernel_power";
constexpr const char* kGpuLeftOut = "kernel_power, GPU left out";

ValidationRow row_of(const KernelPowerRow& r, const char* table, const KernelActivity& activity,
                     const BoardPowers& boards, const Gpu& gpu) {
  const BoardPower board = boards.of(gpu);
  const PowerModel model(activity, board, {});
  // The predicted power is that of the measured time, and so are its intervals.
  const Estimate<Watts> power = model.during(activity.of(r.family, r.op, r.framework), r.used);
  ValidationRow v;
  v.by = {{"table", table},
          {"metric", r.time >= kLongCall ? "power of long calls" : "power of short calls"},
          {"system", r.gpu},
          {"framework", r.framework},
          {"family", std::string(r.family->name())}};
  v.row = r.name;
  v.measured = r.power.value();
  v.predicted = power.value.value();
  const auto at = [&](double p) { return power.quantile(p).value(); };
  v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
  v.origin = power.origin;
  v.what = fmt::format("{} repeated on {} in the measured time, which no scenario states",
                       describe(r.op), r.gpu);
  v.source = "aiconfigurator";
  return v;
}

// A sentence on what readings of nearly the same call differ by.
std::string note_of_twins(const std::vector<KernelPowerRow>& rows) {
  const auto percent = [&](Seconds from, Seconds to) {
    return 100 * twin_readings(rows, from, to).difference;
  };
  return fmt::format(
      "Readings of nearly the same call differ by {:.0f} % on average below 20 us, {:.0f} to 0.1 "
      "ms, {:.0f} to 1 ms and {:.0f} above.",
      percent(Seconds(0), microseconds(20)), percent(microseconds(20), kLongCall),
      percent(kLongCall, milliseconds(1)), percent(milliseconds(1), Seconds(1e9)));
}

}  // namespace

ValidationReport validate_energy(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle) {
  if (!table.empty() && table != kKernels && table != kGpuLeftOut) {
    throw InputError(
        fmt::format("expected the table '{}' or '{}', got '{}'", kKernels, kGpuLeftOut, table));
  }
  ValidationReport report;
  report.area = "energy";
  const Catalog catalog(bundle);
  const std::vector<KernelPowerRow> rows = read_kernel_power(dir, catalog, report);
  if (!rows.empty()) report.note = note_of_twins(rows);
  const KernelActivity activity(bundle);
  const BoardPowers boards(bundle);
  std::set<std::string> gpus;
  for (const KernelPowerRow& r : rows) gpus.insert(r.gpu);
  for (const std::string& id : gpus) {
    const Gpu gpu = catalog.gpu(id);
    if (table.empty() || table == kKernels) {
      for (const KernelPowerRow& r : rows) {
        if (r.gpu == id && r.left_out)
          report.rows.push_back(row_of(r, kKernels, activity, boards, gpu));
      }
    }
    if (gpus.size() < 2 || (!table.empty() && table != kGpuLeftOut)) continue;
    const FittedPower others = fit_power(rows, id, activity.shared_error());
    for (const KernelPowerRow& r : rows) {
      if (r.gpu == id)
        report.rows.push_back(row_of(r, kGpuLeftOut, others.activity, others.boards, gpu));
    }
  }
  return report;
}

}  // namespace orrery
