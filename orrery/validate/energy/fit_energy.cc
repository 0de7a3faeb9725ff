#include "orrery/validate/energy/fit_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/validate/energy/activity_solver.h"
#include "orrery/validate/energy/step_power_fit.h"
#include "orrery/validate/energy/surface_fit.h"

namespace orrery {
namespace {

constexpr double kPriorCalls = 20;  // readings that a class's or family's prior counts for
constexpr double kAwakeQuantile = 0.02;
constexpr Seconds kLeastTime = microseconds(20);  // calls below it tell nothing of themselves
constexpr double kShortWeight = 0.3;              // of calls between that and kLongCall
constexpr double kSteadyWeight = 20;  // one such reading says what twenty of other sweeps do
constexpr std::size_t kEnough = 10;   // left-out calls that tell the error of a class
constexpr std::array kExponents = {0.4, 0.5, 0.6, 0.7, 0.8, 1.0};

double mean_size(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += std::abs(e);
  return errors.empty() ? 0 : sum / real(errors.size());
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

// The boards, with the awake power that was read or that the rows tell.
BoardPowers boards_of(const std::vector<const KernelPowerRow*>& rows,
                      const std::map<std::string, double>& read) {
  std::map<std::string, std::vector<double>> awake;
  std::vector<double> limits;
  for (const KernelPowerRow* r : rows) {
    const double share = r->power / r->limit;
    if (r->time >= kLongCall) awake[r->gpu].push_back(share);
    if (share >= kAtLimit) limits.push_back(share);
  }
  std::map<std::string, double> boards;
  for (auto& [gpu, shares] : awake) {
    std::sort(shares.begin(), shares.end());
    const auto known = read.find(gpu);
    boards[gpu] = known != read.end() ? known->second : quantile(shares, kAwakeQuantile);
  }
  return {boards, limits.empty() ? 1 : std::min(1.0, median_of(limits))};
}

ActivityReading reading_of(const KernelPowerRow& r, const BoardPowers& boards) {
  const double awake_share = boards.awake().at(r.gpu);
  const double limit = r.limit.value();
  return {r.used,
          r.power.value(),
          awake_share * limit,
          limit * (1 - awake_share),
          boards.regulated() * limit,
          r.steady              ? kSteadyWeight
          : r.time >= kLongCall ? 1
                                : kShortWeight};
}

// The fit for one exponent, and the mean absolute error of its long calls.
struct Solution {
  std::vector<KernelActivity::Entry> entries;
  double error = 0;
};

// A group of calls with constants of their own, and the one that it is drawn to. Groups come in the
// order of their depth: all calls, a family, a class, a class of a framework.
struct GroupKey {
  std::string family, kernel_class, framework;
  std::size_t depth() const {
    return std::size_t{!family.empty()} + std::size_t{!kernel_class.empty()} +
           std::size_t{!framework.empty()};
  }
  GroupKey parent() const {
    if (!framework.empty()) return {family, kernel_class, ""};
    if (!kernel_class.empty()) return {family, "", ""};
    return {};
  }
  auto operator<=>(const GroupKey&) const = default;
};

// The calls of a group as the solver wants them.
std::vector<ActivityReading> fitted_readings(const std::vector<const KernelPowerRow*>& members,
                                             const BoardPowers& boards) {
  std::vector<ActivityReading> readings;
  for (const KernelPowerRow* r : members) {
    if (r->left_out || (r->time < kLeastTime && !r->steady)) continue;
    readings.push_back(reading_of(*r, boards));
  }
  return readings;
}

double log_error(const ActivityReading& at, const ActivityShares& shares, double exponent) {
  const double demanded = at.awake + at.span * shares.demanded(at.used, exponent);
  return std::log(std::min(demanded, at.regulated) / at.power);
}

Solution solve(const std::vector<const KernelPowerRow*>& rows, const BoardPowers& boards,
               double exponent) {
  std::map<GroupKey, std::vector<const KernelPowerRow*>> groups;
  for (const KernelPowerRow* r : rows) {
    for (GroupKey key{std::string(r->family->name()), r->kernel_class, r->framework};;
         key = key.parent()) {
      groups[key].push_back(r);
      if (key.depth() == 0) break;
    }
  }
  Solution s;
  std::map<GroupKey, KernelActivity::Entry> solved;
  double sum = 0, count = 0;
  for (const auto& [key, members] : groups) {  // parents first: their texts are empty
    const std::vector<ActivityReading> readings = fitted_readings(members, boards);
    const bool top = key.depth() == 0;
    const ActivityShares prior =
        top ? ActivityShares{0.1, 0.5, 0.5} : solved.at(key.parent()).shares;
    KernelActivity::Entry entry{key.family,
                                key.kernel_class,
                                key.framework,
                                solve_activity(readings, exponent, prior, top ? 1 : kPriorCalls),
                                0,
                                static_cast<std::int64_t>(readings.size())};
    std::vector<double> left_out;
    for (const KernelPowerRow* r : members) {
      if (r->time < kLongCall && !r->steady) continue;
      const double error = log_error(reading_of(*r, boards), entry.shares, exponent);
      if (r->left_out) left_out.push_back(error);
      if (!r->left_out && !key.framework.empty()) sum += std::abs(error), count += 1;
    }
    // 1.25 mean absolute errors are a standard deviation.
    entry.error = top || left_out.size() >= kEnough ? 1.25 * mean_size(left_out)
                                                    : solved.at(key.parent()).error;
    solved[key] = entry;
    s.entries.push_back(std::move(entry));
  }
  s.error = count > 0 ? sum / count : 0;
  return s;
}

}  // namespace

PowerReadings read_power(const std::filesystem::path& dir, const Catalog& catalog,
                         ValidationReport& report) {
  PowerReadings readings;
  readings.rows = read_kernel_power(dir, catalog, report);
  std::vector<KernelPowerRow> steady =
      read_steady_power(own_tables_folder(), catalog, report, readings.awake);
  std::move(steady.begin(), steady.end(), std::back_inserter(readings.rows));
  return readings;
}

FittedPower fit_power(const PowerReadings& readings, std::string_view without,
                      double shared_error) {
  std::vector<const KernelPowerRow*> used;
  for (const KernelPowerRow& r : readings.rows) {
    if (r.gpu != without) used.push_back(&r);
  }
  if (used.empty()) throw InputError("fit: the table kernel_power has no rows");
  BoardPowers boards = boards_of(used, readings.awake);
  Solution best;
  double exponent = 0;
  for (const double x : kExponents) {
    Solution s = solve(used, boards, x);
    if (exponent == 0 || s.error < best.error) best = std::move(s), exponent = x;
  }
  return {KernelActivity(exponent, shared_error, std::move(best.entries)), std::move(boards)};
}

namespace {

// The error of whole classes of a GPU under the constants of the other GPUs, root mean square.
double error_elsewhere(const PowerReadings& readings) {
  std::set<std::string> gpus;
  for (const KernelPowerRow& r : readings.rows) gpus.insert(r.gpu);
  double square = 0, count = 0;
  for (const std::string& gpu : gpus) {
    if (gpus.size() < 2) break;
    const FittedPower fit = fit_power(readings, gpu, 0);
    std::map<std::string, std::vector<double>> errors;
    for (const KernelPowerRow& r : readings.rows) {
      if (r.gpu != gpu || (r.time < kLongCall && !r.steady)) continue;
      Gpu board;
      board.id = r.gpu, board.power = r.limit;
      errors[std::string(r.family->name()) + " " + r.kernel_class].push_back(
          std::log(predicted_power(r, fit.activity, fit.boards.of(board)) / r.power));
    }
    for (auto& [name, of_class] : errors) {
      if (of_class.size() < kEnough) continue;
      const double bias = median_of(of_class);
      square += bias * bias, count += 1;
    }
  }
  return count > 0 ? std::sqrt(square / count) : 0.2;
}

std::string kernels_text(const KernelActivity& a, const std::string& recipe) {
  std::string text = fmt::format(
      "# Made by `orrery fit energy`: do not edit. Constants of orrery/energy/power/"
      "kernel_activity.h.\n"
      "recipe: \"{}\"\nexponent: {}\nshared_error: {:.3f}\nkernels:\n",
      recipe, a.exponent(), a.shared_error());
  for (const KernelActivity::Entry& e : a.entries()) {
    text += fmt::format(
        "  - {{family: \"{}\", class: \"{}\", framework: \"{}\", fixed: {:.4f}, compute: {:.4f}, "
        "memory: {:.4f}, "
        "error: "
        "{:.3f}, calls: {}}}\n",
        e.family, e.kernel_class, e.framework, e.shares.fixed, e.shares.compute, e.shares.memory,
        e.error, e.calls);
  }
  return text;
}

}  // namespace

Watts predicted_power(const KernelPowerRow& row, const KernelActivity& activity,
                      const BoardPower& board) {
  const double demanded =
      activity.of(row.family, row.op, row.framework).shares.demanded(row.used, activity.exponent());
  return std::min(board.awake.value + (board.limit - board.awake.value) * demanded,
                  board.limit * board.regulated);
}

std::vector<std::pair<std::string, std::string>> fit_energy(const std::filesystem::path& dir,
                                                            const std::string& date,
                                                            const Bundle& bundle,
                                                            PartMeter* meter) {
  expect_parts(meter, 4);
  ValidationReport report;
  const Catalog catalog(bundle);
  const PowerReadings readings = read_power(dir, catalog, report);
  finish_parts(meter);
  const double shared = error_elsewhere(readings);
  const FittedPower fit = fit_power(readings, "", shared);
  finish_parts(meter);
  const auto steady = std::count_if(readings.rows.begin(), readings.rows.end(),
                                    [](const KernelPowerRow& r) { return r.steady && !r.again; });
  const auto read = std::count_if(readings.rows.begin(), readings.rows.end(),
                                  [](const KernelPowerRow& r) { return !r.steady; });
  const std::string recipe = fmt::format(
      "data/energy/kernel_power.csv.gz and catalog/measured, {} and {} rows of which 15 % of the "
      "shapes are left out, {}",
      read, steady, date);
  std::string boards = fmt::format(
      "# Made by `orrery fit energy`: do not edit. Points of orrery/energy/power/board_power.h.\n"
      "recipe: \"{}\"\nregulated: {:.4f}\nboards:\n",
      recipe, fit.boards.regulated());
  for (const auto& [gpu, share] : fit.boards.awake())
    boards += fmt::format("  - {{gpu: {}, awake: {:.4f}}}\n", gpu, share);
  std::vector<std::pair<std::string, std::string>> files = {
      {"power/kernels.yaml", kernels_text(fit.activity, recipe)},
      {"power/boards.yaml", std::move(boards)}};
  for (const auto& [path, file] :
       fit_power_surfaces(readings.rows, fit.activity, fit.boards, recipe).files)
    files.emplace_back(path, compressed_surfaces(to_text(file)));
  finish_parts(meter);
  const std::vector<LlmPowerRow> services = read_llm_power(dir, bundle, report);
  if (services.empty()) return files;
  const StepPowerConstants steps = fit_step_power(services, fit.boards.regulated());
  const std::string of_services =
      fmt::format("data/energy/llm_energy.csv, {} rows, {}", services.size(), date);
  files.emplace_back("power/steps.yaml", step_power_text(steps, of_services));
  for (const auto& [engine, times] : fit_in_process(services, ""))
    files.emplace_back(fmt::format("engines/in-process/{}.yaml", engine),
                       in_process_text(times, of_services));
  return files;
}

}  // namespace orrery
