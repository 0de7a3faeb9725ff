#include "orrery/validate/energy/judge_energy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/energy/power/power_model.h"
#include "orrery/validate/energy/fit_energy.h"
#include "orrery/validate/energy/judge_mlperf.h"
#include "orrery/validate/energy/step_power_fit.h"
#include "orrery/validate/energy/surface_fit.h"
#include "orrery/validate/energy/table_noise.h"
#include "orrery/validate/energy/twin_readings.h"

namespace orrery {
namespace {

constexpr const char* kKernels = "kernel_power";
constexpr const char* kGpuLeftOut = "kernel_power, GPU left out";
constexpr const char* kSteady = "steady_power";
constexpr const char* kSteadyGpuLeftOut = "steady_power, GPU left out";
constexpr const char* kServices = "llm_energy";
constexpr const char* kWholeServers = "mlperf";

// The law and the corrections that predict a reading on a GPU.
struct ReadingModel {
  const KernelActivity& activity;
  const BoardPower board;
  const PowerSurfaces& surfaces;
};

ValidationRow row_of(const KernelPowerRow& r, const char* table, const ReadingModel& by) {
  const PowerModel model(by.activity, by.board, {});
  // The predicted reading is that of the measured time, and so are its intervals.
  const Estimate<Watts> power = model.during(by.activity.of(r.family, r.op, r.framework), r.used,
                                             correction_of(by.surfaces, r));
  ValidationRow v;
  v.by = {{"table", table},
          {"metric", r.steady              ? "power of steady calls"
                     : r.time >= kLongCall ? "power of long calls"
                                           : "power of short calls"},
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
  v.source = r.steady ? "orrery" : "aiconfigurator";
  return v;
}

// The clock that a board keeps during a steady call without knobs.
ValidationRow clock_row(const KernelPowerRow& r, const char* table, const ReadingModel& by,
                        const Gpu& gpu) {
  const PowerModel model(by.activity, by.board, {});
  const KernelTime time{
      {r.time, 0, 0, Origin::kMeasured}, r.used.compute * r.time, r.used.memory * r.time};
  const BoardClock clock = model.clock(gpu, {}, r.op, [&](double) { return time; });
  ValidationRow v = row_of(r, table, by);
  v.by["metric"] = "clock of steady calls";
  v.measured = r.clock.value() / 1e6;
  v.predicted = clock.clock * gpu.boost_clock->value() / 1e6;
  v.low50 = v.high50 = v.low90 = v.high90 = v.predicted;
  return v;
}

// The constant of a GPU: the median power of the rows of other models on it.
Watts constant_of(const LlmPowerRow& row, const std::vector<LlmPowerRow>& rows) {
  std::vector<double> others;
  for (const LlmPowerRow& r : rows) {
    if (r.gpu.id == row.gpu.id && r.group != row.group) others.push_back(r.power.value());
  }
  if (others.empty()) return *row.gpu.power;
  std::sort(others.begin(), others.end());
  return Watts(quantile(others, 0.5));
}

// The rows of a service: the power in the time that was measured, and the time and the energy of a
// token from the scenario alone. `fit` has not seen the row's group.
void add_service(const LlmPowerRow& r, StepPowerFit fit, const StepPowerConstants& errors,
                 const std::vector<LlmPowerRow>& all, ValidationReport& report) {
  StepPowerConstants& c = fit.constants;
  c.error = errors.error, c.board_error = errors.board_error, c.engine_error = errors.engine_error;
  const auto add = [&](const char* metric, double measured, double predicted, double shared,
                       double own, Origin origin) -> ValidationRow& {
    ValidationRow v;
    v.by = {{"table", kServices},
            {"metric", metric},
            {"system", r.gpu.id},
            {"framework", r.engine},
            {"source", r.source}};
    v.row = r.name;
    v.measured = measured, v.predicted = predicted;
    const Estimate<double> e{predicted, shared, own, origin};
    v.low50 = e.quantile(0.25), v.high50 = e.quantile(0.75);
    v.low90 = e.quantile(0.05), v.high90 = e.quantile(0.95);
    v.origin = origin;
    v.source = r.source;
    report.rows.push_back(std::move(v));
    return report.rows.back();
  };
  const StepWork work = with_waits(r, fit.in_process);
  const Estimate<Watts> alone = step_power(c, r.gpu, r.engine, work);
  const double limit = r.gpu.power->value();
  ValidationRow& power =
      add("power in the measured time", r.power.value(), power_in_measured_time(r, fit).value(),
          alone.shared, alone.own, alone.origin);
  power.high50 = std::min(power.high50, limit), power.high90 = std::min(power.high90, limit);
  power.what =
      fmt::format("{} in the time that was measured, which no scenario states", r.keys.yaml());
  power.peers = {{"limit of the board", limit},
                 {"a constant for each GPU", constant_of(r, all).value()}};
  ValidationRow& time = add("time of a token", r.time.value() / r.tokens,
                            work.time.value() / r.tokens, r.time_error, 0, alone.origin);
  time.what = fmt::format("{} with the time of a token as its source counts tokens", r.keys.yaml());
  const double part = energy_follows_time(c, r.gpu, r.engine, work);
  const Joules joules = alone.value * work.time * (r.gpus / r.tokens);
  ValidationRow& energy =
      add("energy of a token", r.per_token.value(), joules.value(),
          std::hypot(alone.shared, part * r.time_error), alone.own, alone.origin);
  energy.what =
      fmt::format("{} with the energy of a token as its source counts tokens", r.keys.yaml());
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

void judge_services(const std::filesystem::path& dir, const Bundle& bundle,
                    ValidationReport& report) {
  const std::vector<LlmPowerRow> rows = read_llm_power(dir, bundle, report);
  const StepPowerConstants errors = read_step_power(bundle);
  std::set<std::string> groups;
  for (const LlmPowerRow& r : rows) groups.insert(r.group);
  for (const std::string& group : groups) {
    const StepPowerFit fit = fit_step_power(rows, group, errors.regulated);
    for (const LlmPowerRow& r : rows) {
      if (r.group == group) add_service(r, fit, errors, rows, report);
    }
  }
}

}  // namespace

ValidationReport validate_energy(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle) {
  constexpr std::array kTables = {kKernels,          kGpuLeftOut, kSteady,
                                  kSteadyGpuLeftOut, kServices,   kWholeServers};
  if (!table.empty() && std::find(kTables.begin(), kTables.end(), table) == kTables.end()) {
    throw InputError(
        fmt::format("expected the table '{}', got '{}'", fmt::join(kTables, "', '"), table));
  }
  ValidationReport report;
  report.area = "energy";
  if (table.empty() || table == kServices) judge_services(dir, bundle, report);
  if (table.empty() || table == kWholeServers) judge_mlperf(dir, bundle, report);
  if (table == kServices || table == kWholeServers) return report;
  const Catalog catalog(bundle);
  const PowerReadings readings = read_power(dir, catalog, report);
  const std::vector<KernelPowerRow>& rows = readings.rows;
  if (!rows.empty()) report.note = note_of_twins(rows) + " " + note_of_readings(rows);
  const KernelActivity activity(bundle);
  const BoardPowers boards(bundle);
  const NearestReadings nearest(rows);
  const SameCalls same(rows);
  std::set<std::string> gpus;
  for (const KernelPowerRow& r : rows) gpus.insert(r.gpu);
  for (const std::string& id : gpus) {
    const Gpu gpu = catalog.gpu(id);
    const PowerSurfaces surfaces(bundle, catalog, gpu);
    const auto asked = [&](const char* name) { return table.empty() || table == name; };
    for (const KernelPowerRow& r : rows) {
      const char* name = r.steady ? kSteady : kKernels;
      if (r.gpu != id || !r.left_out || r.again || !asked(name)) continue;
      report.rows.push_back(row_of(r, name, {activity, boards.of(gpu), surfaces}));
      if (const Watts near = nearest.of(r); near > Watts(0))
        report.rows.back().peers["its four nearest readings"] = near.value();
      if (const Watts again = same.again(r); again > Watts(0))
        report.rows.back().peers["other readings of the same call"] = again.value();
      if (r.clock > Hertz(0) && gpu.boost_clock)
        report.rows.push_back(clock_row(r, name, {activity, boards.of(gpu), surfaces}, gpu));
    }
    if (gpus.size() < 2 || (!asked(kGpuLeftOut) && !asked(kSteadyGpuLeftOut))) continue;
    const FittedPower others = fit_power(readings, id, activity.shared_error());
    std::vector<KernelPowerRow> of_others;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_others),
                 [&](const KernelPowerRow& r) { return r.gpu != id; });
    const PowerSurfaces relatives(
        fit_power_surfaces(of_others, others.activity, others.boards, "").files, catalog, gpu);
    for (const KernelPowerRow& r : rows) {
      const char* name = r.steady ? kSteadyGpuLeftOut : kGpuLeftOut;
      if (r.gpu != id || r.again || !asked(name)) continue;
      const BoardPower board = others.boards.of(gpu);
      report.rows.push_back(row_of(r, name, {others.activity, board, relatives}));
      const Watts there = same.elsewhere(r, others.boards, board);
      if (!r.steady && there > Watts(0))
        report.rows.back().peers["the same call, read on another GPU"] = there.value();
      if (r.clock > Hertz(0) && gpu.boost_clock)
        report.rows.push_back(clock_row(r, name, {others.activity, board, relatives}, gpu));
    }
  }
  return report;
}

}  // namespace orrery
