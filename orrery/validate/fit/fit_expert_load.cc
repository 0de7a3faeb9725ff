#include "orrery/validate/fit/fit_expert_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/fit/service_folds.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

constexpr std::array kSkews = {0.0, 0.2, 0.4, 0.6, 0.8, 1.01, 1.2, 1.4, 1.6};
constexpr std::size_t kRowsOfGroup = 6, kFewestGroups = 3;
constexpr int kDraws = 400;
constexpr const char* kSkewKey = "workload.expert_skew";

using SkewErrors = std::array<double, kSkews.size()>;  // log(predicted / measured) of a TPOT

struct SkewGroup {
  std::vector<SkewErrors> rows;
  SkewErrors loss{};  // mean absolute error
};
using SkewGroups = std::map<std::string, SkewGroup>;

// The error between two exponents of the grid, linear in the exponent.
double at(const SkewErrors& values, double skew) {
  std::size_t i = 1;
  while (i + 1 < kSkews.size() && kSkews[i] < skew) ++i;
  const double part = (skew - kSkews[i - 1]) / (kSkews[i] - kSkews[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

// The least of a loss: the vertex of the parabola through the least point and its neighbours.
double least(const SkewErrors& loss) {
  const auto i =
      static_cast<std::size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
  if (i == 0 || i + 1 == loss.size()) return kSkews[i];
  const double a = kSkews[i - 1] - kSkews[i], b = kSkews[i + 1] - kSkews[i];
  const double u = loss[i - 1] - loss[i], v = loss[i + 1] - loss[i];
  const double curvature = (u / a - v / b) / (a - b);
  return curvature <= 0 ? kSkews[i] : kSkews[i] - (u / a - curvature * a) / (2 * curvature);
}

double fit_of(const std::vector<const SkewGroup*>& groups) {
  SkewErrors loss{};
  for (const SkewGroup* g : groups) {
    for (std::size_t i = 0; i < loss.size(); ++i) loss[i] += g->loss[i];
  }
  return least(loss);
}

// TPOTs of a row at all exponents against the measured one. Empty if the row has none.
std::vector<SkewErrors> errors_of(Runner& runner, MeasuredRow row) {
  RunOptions options;
  options.breakdown = options.intervals = false;
  for (const MeasuredFigure& figure : row.figures) {
    if (figure.answer_name != "tpot") continue;
    SkewErrors errors{};
    try {
      for (std::size_t i = 0; i < kSkews.size(); ++i) {
        row.keys.set(kSkewKey, fmt::format("{}", kSkews[i]));
        const Answer answer = runner.run(row.keys.scenario(), options);
        const Metric* m = answer.points.at(0).find("tpot");
        if (m == nullptr || !answer.points.at(0).feasibility.fits) return {};
        errors[i] = std::log(m->value / figure.value);
      }
    } catch (const std::runtime_error&) {
      return {};  // refused: `orrery validate` reports it
    }
    return {errors};
  }
  return {};
}

SkewGroups read_groups(const std::filesystem::path& dir, const Bundle& bundle) {
  Runner runner(bundle);
  std::vector<MeasuredRow> read;
  std::vector<RefusedRow> refused;
  read_inference_rows(dir, "serving_steady", runner.catalog(), read, refused);
  std::map<std::string, std::vector<MeasuredRow>> rows;
  for (MeasuredRow& row : read) {
    if (!row.keys.text(kSkewKey).empty()) rows[service_fold_of(row)].push_back(std::move(row));
  }
  SkewGroups groups;
  for (const auto& [name, of_group] : rows) {
    SkewGroup group;
    const std::size_t n = std::min(of_group.size(), kRowsOfGroup);
    for (std::size_t i = 0; i < n; ++i) {
      for (const SkewErrors& e : errors_of(runner, of_group[i * of_group.size() / n]))
        group.rows.push_back(e);
    }
    if (group.rows.empty()) continue;
    for (const SkewErrors& e : group.rows) {
      for (std::size_t i = 0; i < e.size(); ++i)
        group.loss[i] += std::abs(e[i]) / static_cast<double>(group.rows.size());
    }
    groups[name] = std::move(group);
  }
  return groups;
}

double percent(double log) { return 100 * std::abs(std::expm1(log)); }

}  // namespace

FittedExpertLoad fit_expert_load(const std::filesystem::path& dir, const std::string& date,
                                 const Bundle& bundle) {
  const SkewGroups groups = read_groups(dir, bundle);
  if (groups.size() < kFewestGroups) {
    throw InputError(fmt::format("{}: {} models with experts on systems, at least {} are needed",
                                 dir.string(), groups.size(), kFewestGroups));
  }
  std::vector<const SkewGroup*> all;
  for (const auto& [name, group] : groups) all.push_back(&group);
  FittedExpertLoad f;
  f.skew = fit_of(all);
  std::mt19937_64 random(1);
  std::vector<double> drawn;
  for (int d = 0; d < kDraws; ++d) {
    std::vector<const SkewGroup*> some;
    for (std::size_t i = 0; i < all.size(); ++i) some.push_back(all[random() % all.size()]);
    drawn.push_back(fit_of(some));
  }
  f.low90 = quantile(drawn, 0.05), f.high90 = quantile(drawn, 0.95);
  std::vector<double> balanced, fitted, left_out, change;
  for (const auto& [name, group] : groups) {
    std::vector<const SkewGroup*> others;
    for (const SkewGroup* g : all) {
      if (g != &group) others.push_back(g);
    }
    const double without = f.without[name] = fit_of(others);
    for (const SkewErrors& e : group.rows) {
      balanced.push_back(percent(e[0]));
      fitted.push_back(percent(at(e, f.skew)));
      left_out.push_back(percent(at(e, without)));
      change.push_back(percent(at(e, f.high90) - at(e, f.low90)));
      ++f.rows;
    }
  }
  f.balanced = quantile(balanced, 0.5), f.fitted = quantile(fitted, 0.5);
  f.left_out = quantile(left_out, 0.5), f.across_interval = quantile(change, 0.5);
  f.yaml = fmt::format(
      "# Made by `orrery fit expert-load` from data/inference/serving_steady on {}: do not edit.\n"
      "# {} rows of {} models with experts on systems. Median error of TPOT {:.1f} % with balanced "
      "loads,\n# {:.1f} % at the fitted skew, {:.1f} % at that fitted without the row's group. "
      "From "
      "low90 to high90\n# TPOT changes by {:.1f} % (median).\nskew: {:.2f}\nlow90: {:.2f}\nhigh90: "
      "{:.2f}\nwithout:\n",
      date, f.rows, groups.size(), f.balanced, f.fitted, f.left_out, f.across_interval, f.skew,
      f.low90, f.high90);
  for (const auto& [name, skew] : f.without) f.yaml += fmt::format("  {}: {:.2f}\n", name, skew);
  return f;
}

}  // namespace orrery
