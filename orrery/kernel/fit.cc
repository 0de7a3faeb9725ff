#include "orrery/kernel/fit.h"

#include <fmt/format.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/eager_fit.h"
#include "orrery/kernel/elementwise_fit.h"
#include "orrery/kernel/families.h"
#include "orrery/kernel/samples.h"
#include "orrery/kernel/surface.h"

namespace orrery {
namespace {

constexpr double kFloorShare = 0.9;   // of the fastest call
constexpr double kSmoothness = 0.1;   // weight of a second difference against one row
constexpr double kBeyondRows = 0.5;   // how far values may lie outside those of rows
constexpr double kClearlyWork = 0.5;  // share of a time above the floor that tells an efficiency
constexpr double kHuber = 0.15;       // log error beyond which a row pulls no harder
constexpr int kRounds = 3;            // of Huber weights
constexpr std::ptrdiff_t kLeastRows = 40;
constexpr double kLeastError =
    0.02;  // repeatability of the measurements: 1 to 6 % between frameworks

// Second differences along each axis on nodes of unequal distance, as rows of the penalty.
void add_smoothness(const SurfaceAxes& axes, double weight,
                    std::vector<Eigen::Triplet<double>>& triplets) {
  std::size_t stride = axes.size();
  for (const std::vector<double>& nodes : axes.nodes) {
    stride /= nodes.size();
    if (nodes.size() < 2) continue;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t k = i / stride % nodes.size();
      auto add = [&](std::vector<std::pair<std::size_t, double>> row, double w) {
        for (const auto& [a, va] : row) {
          for (const auto& [b, vb] : row)
            triplets.emplace_back(static_cast<int>(a), static_cast<int>(b), w * va * vb);
        }
      };
      if (k + 1 < nodes.size())
        add({{i, -1}, {i + stride, 1}}, weight * 0.02);  // and a little flatness
      if (k == 0 || k + 1 >= nodes.size()) continue;
      const double left = nodes[k] - nodes[k - 1], right = nodes[k + 1] - nodes[k];
      add({{i - stride, right / (left + right)}, {i, -1}, {i + stride, left / (left + right)}},
          weight);
    }
  }
}

double predicted(const Surface& s, const SurfaceAxes& axes, const MeasuredPoint& p) {
  return std::max(s.floor.value() + p.base * std::exp(s.at(cell_at(axes, p.x))), p.least);
}

Seconds floor_of(const std::vector<MeasuredPoint>& points) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const MeasuredPoint& p : points) {
    if (!p.left_out) fastest = std::min(fastest, p.time);
  }
  return Seconds(kFloorShare * fastest);
}

}  // namespace

// Where there are no rows the surface follows the shape of `parent`.
Surface fit_surface(const std::string& name, const SurfaceAxes& axes,
                    const std::vector<MeasuredPoint>& points, Seconds floor_time,
                    const Surface* parent) {
  Surface s;
  s.kernel_class = name;
  s.floor = floor_time;
  const double floor = floor_time.value();
  // What the rows show of the surface; cells without rows stay near it.
  double lowest = 0, highest = 0;
  for (const MeasuredPoint& p : points) {
    if (p.left_out || p.time - floor < kClearlyWork * p.time) continue;
    lowest = std::min(lowest, std::log((p.time - floor) / p.base));
    highest = std::max(highest, std::log((p.time - floor) / p.base));
  }
  const auto n = static_cast<Eigen::Index>(axes.size());
  std::vector<Eigen::Triplet<double>> smoothness;
  add_smoothness(axes, kSmoothness, smoothness);
  Eigen::VectorXd pull = Eigen::VectorXd::Zero(n);
  if (parent) {
    for (const auto& t : smoothness)
      pull[t.row()] +=
          t.value() * static_cast<double>(parent->values[static_cast<std::size_t>(t.col())]);
  }
  std::vector<double> huber(points.size(), 1.0);
  Eigen::VectorXd solution = Eigen::VectorXd::Zero(n);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Eigen::Triplet<double>> triplets = smoothness;
    Eigen::VectorXd right = pull;
    // Rows of one cell are gathered first: there are far more rows than cells.
    std::map<std::pair<int, int>, double> matrix;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const MeasuredPoint& p = points[i];
      if (p.left_out) continue;
      const double work = p.time - floor;
      const double explained = work / p.time;
      const double w = huber[i] * explained * explained;
      const SurfaceCell cell = cell_at(axes, p.x);
      const double target = std::log(work / p.base);
      for (std::size_t a = 0; a < cell.count; ++a) {
        if (cell.weight[a] == 0) continue;
        right[static_cast<Eigen::Index>(cell.index[a])] += w * cell.weight[a] * target;
        for (std::size_t b = 0; b < cell.count; ++b) {
          if (cell.weight[b] != 0) {
            matrix[{static_cast<int>(cell.index[a]), static_cast<int>(cell.index[b])}] +=
                w * cell.weight[a] * cell.weight[b];
          }
        }
      }
    }
    for (const auto& [at, v] : matrix) triplets.emplace_back(at.first, at.second, v);
    Eigen::SparseMatrix<double> normal(n, n);
    normal.setFromTriplets(triplets.begin(), triplets.end());
    for (Eigen::Index i = 0; i < n; ++i) normal.coeffRef(i, i) += 1e-9;
    solution = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(normal)
                   .solve(right)
                   .cwiseMax(lowest - kBeyondRows)
                   .cwiseMin(highest + kBeyondRows);
    s.values.assign(solution.data(), solution.data() + n);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double error = std::abs(std::log(predicted(s, axes, points[i]) / points[i].time));
      huber[i] = error > kHuber ? kHuber / error : 1;
    }
  }
  for (float& v : s.values)
    v = static_cast<float>(std::lround(v * 1000)) / 1000.0f;  // as it is written
  return s;
}

// Errors on the rows left out; the surface's own error is such that 90 % of them lie in the 90 %
// interval.
KernelFitRow judge_surface(Surface& s, const SurfaceAxes& axes,
                           const std::vector<MeasuredPoint>& points) {
  KernelFitRow row;
  std::vector<double> percent, logs;
  double sum = 0;
  for (const MeasuredPoint& p : points) {
    if (!p.left_out) {
      ++row.fitted;
      continue;
    }
    const double v = predicted(s, axes, p);
    percent.push_back(100 * std::abs(v / p.time - 1));
    logs.push_back(std::log(p.time / v));
    sum += 100 * (v / p.time - 1);
  }
  row.left_out = percent.size();
  if (percent.empty()) return row;
  for (double p : percent) row.mape += p / static_cast<double>(percent.size());
  row.median = quantile(percent, 0.5);
  row.bias = sum / static_cast<double>(percent.size());
  std::vector<double> absolute;
  for (double l : logs) absolute.push_back(std::abs(l));
  s.own = std::max(kLeastError, quantile(absolute, 0.9) / normal_quantile(0.95));
  s.shared = std::max(kLeastError, std::abs(quantile(logs, 0.5)));
  return row;
}

namespace {

const KernelFamily::KernelClass* class_named(const KernelFamily& family, const std::string& name) {
  for (const KernelFamily::KernelClass& c : family.classes()) {
    if (c.choices.front().name == name) return &c;
  }
  return nullptr;
}

// The first of the class's substitutes that is fitted.
const Surface* parent_of(const std::string& name, const KernelFamily& family,
                         const SurfaceFile& fitted) {
  const KernelFamily::KernelClass* c = class_named(family, name);
  for (std::size_t i = 1; c && i < c->choices.size(); ++i) {
    if (const Surface* s = fitted.find(c->choices[i].name)) return s;
  }
  return nullptr;
}

// Names of classes, substitutes before those for which they stand in.
std::vector<std::string> parents_first(const KernelFamily& family,
                                       const std::map<std::string, ClassSamples>& classes) {
  std::vector<std::string> order;
  std::set<std::string> seen;  // classes may stand in for each other
  const auto visit = [&](const std::string& name, const auto& self) -> void {
    if (!classes.contains(name) || !seen.insert(name).second) return;
    if (const KernelFamily::KernelClass* c = class_named(family, name)) {
      for (std::size_t i = 1; i < c->choices.size(); ++i) self(c->choices[i].name, self);
    }
    order.push_back(name);
  };
  for (const auto& [name, samples] : classes) visit(name, visit);
  return order;
}

}  // namespace

KernelFit fit_kernels(const std::filesystem::path& dir, const std::string& only,
                      const std::string& date, const Bundle& bundle,
                      const std::set<std::string>& gpus) {
  KernelFit fit;
  const Catalog catalog(bundle);
  if (has_eager_tables(dir)) {
    fit_eager(dir, only, date, bundle, fit);
    return fit;
  }
  if (only.empty() || only == elementwise_family().name()) fit_elementwise(dir, date, bundle, fit);
  for (const KernelFamily* family : kernel_families()) {
    if (family->tables().empty() || (!only.empty() && family->name() != only)) continue;
    const SurfaceAxes axes{family->axes()};
    FamilySamples data = read_samples(dir, *family, catalog, fit.refused, gpus);
    for (auto& [key, classes] : data) {
      SurfaceFile file;
      file.axes = axes;
      std::string errors;
      for (const std::string& name : parents_first(*family, classes)) {
        const ClassSamples& c = classes.at(name);
        const auto fitted = std::count_if(c.points.begin(), c.points.end(),
                                          [](const MeasuredPoint& p) { return !p.left_out; });
        if (fitted < kLeastRows) continue;
        Surface s =
            fit_surface(name, axes, c.points, floor_of(c.points), parent_of(name, *family, file));
        KernelFitRow row = judge_surface(s, axes, c.points);
        row.family = family->name();
        row.framework = key.first;
        row.gpu = key.second;
        row.kernel_class = name;
        errors += fmt::format(
            "# {}: version {}, {} rows fitted, {} left out: mape {:.1f} %, median {:.1f} %, bias "
            "{:+.1f} %{}\n",
            name, fmt::join(c.versions, " "), row.fitted, row.left_out, row.mape, row.median,
            row.bias,
            c.impossible ? fmt::format("; {} impossibly fast rows not used", c.impossible) : "");
        file.surfaces.push_back(std::move(s));
        fit.rows.push_back(std::move(row));
      }
      if (file.surfaces.empty()) continue;
      file.comment =
          fmt::format("# Made by `orrery fit kernels --data DIR` from {} on {}: do not edit.\n{}",
                      fmt::join(family->tables(), ", "), date, errors);
      fit.files.emplace_back(surface_path(family->name(), key.first, key.second), to_text(file));
    }
  }
  return fit;
}

}  // namespace orrery
