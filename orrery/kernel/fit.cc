#include "orrery/kernel/fit.h"

#include <fmt/format.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/base/random.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/family.h"
#include "orrery/kernel/surface.h"

namespace orrery {
namespace {

constexpr double kFloorShare = 0.9;  // of the fastest call
constexpr double kSmoothness = 0.3;  // weight of a second difference against one row
constexpr double kHuber = 0.15;      // log error beyond which a row pulls no harder
constexpr int kRounds = 3;           // of Huber weights
constexpr std::size_t kLeastRows = 60;
constexpr double kLeastError =
    0.02;  // repeatability of the measurements: 1 to 6 % between frameworks

// What the fit needs of a sample: where it is on the grid, and its time.
struct Point {
  std::array<double, kMostAxes> x;
  double base, least, time;
  bool left_out;
};

struct ClassData {
  std::vector<Point> points;
  std::set<std::string> versions;
};

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

double predicted(const Surface& s, const SurfaceAxes& axes, const Point& p) {
  return std::max(s.floor.value() + p.base * std::exp(s.at(cell_at(axes, p.x))), p.least);
}

Surface fit_class(const std::string& name, const SurfaceAxes& axes,
                  const std::vector<Point>& points) {
  Surface s;
  s.kernel_class = name;
  double fastest = 1e9;
  for (const Point& p : points) fastest = std::min(fastest, p.time);
  const double floor = kFloorShare * fastest;
  s.floor = Seconds(floor);
  const auto n = static_cast<Eigen::Index>(axes.size());
  std::vector<double> huber(points.size(), 1.0);
  Eigen::VectorXd solution = Eigen::VectorXd::Zero(n);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Eigen::Triplet<double>> triplets;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    add_smoothness(axes, kSmoothness, triplets);
    // Rows of one cell are gathered first: there are far more rows than cells.
    std::map<std::pair<int, int>, double> matrix;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& p = points[i];
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
    solution = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(normal).solve(right);
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
KernelFitRow judge(Surface& s, const SurfaceAxes& axes, const std::vector<Point>& points) {
  KernelFitRow row;
  std::vector<double> percent, logs;
  double sum = 0;
  for (const Point& p : points) {
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

}  // namespace

KernelFit fit_kernels(const std::filesystem::path& dir, const std::string& only,
                      const std::string& date, const Bundle& bundle) {
  KernelFit fit;
  const Catalog catalog(bundle);
  std::map<std::string, std::optional<Gpu>> gpus;
  auto gpu_of = [&](const std::string& system) -> const std::optional<Gpu>& {
    auto it = gpus.find(system);
    if (it == gpus.end()) {
      try {
        it = gpus.emplace(system, catalog.gpu(system)).first;
      } catch (const InputError& e) {
        fit.refused.push_back(e.what());
        it = gpus.emplace(system, std::nullopt).first;
      }
    }
    return it->second;
  };

  for (const KernelFamily* family : kernel_families()) {
    if (family->tables().empty() || (!only.empty() && family->name() != only)) continue;
    const SurfaceAxes axes{family->axes()};
    // (framework, gpu) -> class -> samples
    std::map<std::pair<std::string, std::string>, std::map<std::string, ClassData>> data;
    for (const std::string& table : family->tables()) {
      const std::filesystem::path path = dir / (table + ".csv.gz");
      if (!std::filesystem::exists(path)) {
        fit.refused.push_back(fmt::format("{}: no such table", path.string()));
        continue;
      }
      CsvReader csv(path);
      const int system = csv.column("system"), latency = csv.column("latency_us"),
                version = csv.column("version");
      while (csv.next()) {
        KernelSample s;
        if (!family->read(csv, table, s) || s.weight == 0) continue;
        const auto& gpu = gpu_of(std::string(csv.text(system)));
        if (!gpu) continue;
        s.time = microseconds(csv.number(latency));
        if (s.time <= Seconds(0)) continue;
        const KernelPoint p = family->point(s.op, *gpu, true);
        ClassData& c = data[{s.framework, gpu->id}][s.kernel_class];
        const bool left_out =
            s.shape % 10 == 0 || hash_text(fmt::format("{} {}", s.shape, describe(s.op))) % 20 == 0;
        c.points.push_back({p.x, p.base.value(), p.least.value(), s.time.value(), left_out});
        c.versions.emplace(csv.text(version));
      }
    }
    for (auto& [key, classes] : data) {
      SurfaceFile file;
      file.axes = axes;
      std::string errors;
      for (auto& [name, c] : classes) {
        if (c.points.size() < kLeastRows) continue;
        Surface s = fit_class(name, axes, c.points);
        KernelFitRow row = judge(s, axes, c.points);
        row.family = family->name();
        row.framework = key.first;
        row.gpu = key.second;
        row.kernel_class = name;
        errors += fmt::format(
            "# {}: version {}, {} rows fitted, {} left out: mape {:.1f} %, median {:.1f} %, bias "
            "{:+.1f} %\n",
            name, fmt::join(c.versions, " "), row.fitted, row.left_out, row.mape, row.median,
            row.bias);
        file.surfaces.push_back(std::move(s));
        fit.rows.push_back(std::move(row));
      }
      if (file.surfaces.empty()) continue;
      file.comment =
          fmt::format("# Made by `orrery fit kernels --data DIR` from {} on {}: do not edit.\n{}",
                      fmt::join(family->tables(), ", "), date, errors);
      fit.files.emplace_back(
          fmt::format("kernels/{}/{}-{}.txt", family->name(), key.first, key.second),
          to_text(file));
    }
  }
  return fit;
}

}  // namespace orrery
