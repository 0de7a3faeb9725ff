#include "orrery/kernel/fit/class_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "orrery/base/fit.h"
#include "orrery/kernel/fit/boosted_trees.h"

namespace orrery {
namespace {

constexpr double kFloorShare = 0.6;     // of the fastest call
constexpr double kBeyondRows = 0.5;     // how far values may lie outside those of rows
constexpr double kClearlyWork = 0.5;    // share of a time above the floor that tells an efficiency
constexpr double kSeriesRidge = 0.003;  // of a series to its surface
constexpr std::size_t kLeastSeriesRows = 6;

GridFit surface_grid(const KernelTables& tables, const SurfaceSolving& solving) {
  return GridFit({tables.family().axes()}, solving.smoothness, tables.equivalent_axes(), 0,
                 solving.steps);
}

// The rows of one class while its surface is fitted.
struct Fitting {
  SurfaceSolving solving;
  std::vector<const MeasuredPoint*> points;
  std::vector<GridRow> rows;  // of the points
  double floor = 0;
  double lowest = 0, highest = 0;  // what rows show of the surface; the rest stays near it

  Fitting(const std::vector<MeasuredPoint>& all, std::optional<Seconds> known_floor,
          const SurfaceSolving& how)
      : solving(how) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const MeasuredPoint& p : all) {
      if (p.left_out) continue;
      points.push_back(&p);
      fastest = std::min(fastest, p.time);
    }
    floor = known_floor ? known_floor->value() : kFloorShare * fastest;
    for (const MeasuredPoint* p : points) {
      if (p->time - floor < kClearlyWork * p->time) continue;
      lowest = std::min(lowest, target(*p));
      highest = std::max(highest, target(*p));
    }
  }
  double target(const MeasuredPoint& p) const { return std::log((p.time - floor) / p.base); }

  // The values that explain `rows`; rows far off pull no harder than those at
  // SurfaceSolving::huber.
  std::vector<float> solve(const GridFit& grid, const std::vector<const MeasuredPoint*>& of,
                           std::vector<GridRow>& of_rows, const std::vector<double>& offset,
                           const Eigen::VectorXd& prior) const {
    const auto n = static_cast<Eigen::Index>(grid.axes().size());
    Eigen::VectorXd values = prior.size() == n ? prior : Eigen::VectorXd::Zero(n);
    for (int round = 0; round < solving.rounds; ++round) {
      for (std::size_t i = 0; i < of_rows.size(); ++i) {
        const double explained = (of[i]->time - floor) / of[i]->time;
        double at = 0;
        for (std::size_t c = 0; c < of_rows[i].cell.count; ++c)
          at += of_rows[i].cell.weight[c] *
                values[static_cast<Eigen::Index>(of_rows[i].cell.index[c])];
        const double v =
            std::max(floor + of[i]->base * std::exp(at + offset[i]), of[i]->least) / of[i]->time;
        const double error = round == 0 ? 0 : std::log(v);
        of_rows[i].weight = explained * explained * huber_weight(error, solving.huber);
      }
      values = grid.solve(of_rows, prior, values);
    }
    std::vector<float> out;
    for (double v : values) out.push_back(static_cast<float>(v));
    return out;
  }
};

// Features by which a kernel may change: the coordinates, logs of sizes, and the sums of two and
// more of them, logs of products (bytes, work, blocks of a launch).
std::vector<double> traits_of(std::span<const double> x) {
  std::vector<double> out;
  for (unsigned of = 1; of < 1u << x.size(); ++of) {
    double sum = 0;
    for (std::size_t a = 0; a < x.size(); ++a) sum += of >> a & 1 ? x[a] : 0;
    out.push_back(sum);
  }
  return out;
}

// The rows of the boosted trees: their features and their targets.
struct TreeRows {
  std::vector<std::vector<double>> traits;  // by trait
  std::vector<double> target, weight;

  explicit TreeRows(std::size_t count) : traits(count) {}

  // The last feature is the number `which` of the GPU.
  void add(std::span<const double> x, double which) {
    std::vector<double> of = traits_of(x);
    of.push_back(which);
    for (std::size_t t = 0; t < traits.size(); ++t) traits[t].push_back(of[t]);
  }
  void add(const Fitting& fit, const SurfaceAxes& axes, const Eigen::VectorXd& prior,
           double which) {
    for (const MeasuredPoint* p : fit.points) {
      if (p->time <= fit.floor) continue;
      add({p->x.data(), axes.nodes.size()}, which);
      const SurfaceCell cell = cell_at(axes, p->x);
      double at = 0;
      for (std::size_t c = 0; c < cell.count; ++c)
        at += cell.weight[c] * prior[static_cast<Eigen::Index>(cell.index[c])];
      target.push_back(fit.target(*p) - at);
      const double explained = (p->time - fit.floor) / p->time;
      weight.push_back(explained * explained);
    }
  }
};

// Adds the predictions of boosted trees to the values of the nodes. Nodes between rows follow the
// trees in place of a straight line; the solver smooths the residuals.
Eigen::VectorXd tree_prior(const SurfaceAxes& axes, const Fitting& fit,
                           std::span<const std::vector<MeasuredPoint>* const> sisters,
                           Eigen::VectorXd prior) {
  const std::size_t n = axes.nodes.size(), traits = 1u << n;
  if (prior.size() == 0) prior = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(axes.size()));
  TreeRows rows(traits), of_nodes(traits);
  rows.add(fit, axes, prior, 0);
  double which = 0;
  for (const std::vector<MeasuredPoint>* sister : sisters)
    rows.add(Fitting(*sister, {}, fit.solving), axes, prior, ++which);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t stride = axes.size();
    for (std::size_t a = 0; a < n; ++a) {
      stride /= axes.nodes[a].size();
      x[a] = axes.nodes[a][i / stride % axes.nodes[a].size()];
    }
    of_nodes.add(x, 0);
  }
  const std::vector<double> seen =
      BoostedTrees(rows.traits, rows.target, rows.weight)(of_nodes.traits);
  for (std::size_t i = 0; i < seen.size(); ++i) prior[static_cast<Eigen::Index>(i)] += seen[i];
  return prior;
}

}  // namespace

ClassFitter::ClassFitter(const KernelFamily& family)
    : ClassFitter(family, tables_of(family).solving()) {}

ClassFitter::ClassFitter(const KernelFamily& family, SurfaceSolving solving)
    : tables_(tables_of(family)),
      solving_(std::move(solving)),
      grid_(surface_grid(tables_, solving_)) {
  if (!family.series_axes().empty())
    series_grid_.emplace(SurfaceAxes{family.series_axes()}, tables_.series_smoothness(),
                         EquivalentAxes{}, kSeriesRidge);
}

// The range includes the rows left out, because being left out says nothing about the range of a
// sweep.
MeasuredRange measured_range_of(const std::vector<MeasuredPoint>& points) {
  MeasuredRange range;
  if (points.empty()) return range;
  range.low.fill(MeasuredRange::kNone);
  range.high.fill(-MeasuredRange::kNone);
  range.most = -MeasuredRange::kNone;
  for (const MeasuredPoint& p : points) {
    double sum = 0;
    for (std::size_t a = 0; a < kMostAxes; ++a) {
      range.low[a] = std::min(range.low[a], p.x[a]);
      range.high[a] = std::max(range.high[a], p.x[a]);
      sum += p.x[a];
    }
    range.most = std::max(range.most, sum);
  }
  return range;
}

Surface ClassFitter::fit(const std::string& name, const std::vector<MeasuredPoint>& points,
                         const Surface* parent,
                         std::span<const std::vector<MeasuredPoint>* const> sisters,
                         std::optional<Seconds> floor) {
  Fitting fit(points, floor, solving_);
  Surface s;
  s.kernel_class = name;
  s.floor = Seconds(fit.floor);
  s.measured_range = measured_range_of(points);
  for (const MeasuredPoint* p : fit.points)
    fit.rows.push_back({cell_at(grid_.axes(), p->x), fit.target(*p), 1});
  Eigen::VectorXd prior;
  if (parent) {
    const std::vector<float>& its = shapes_.at(parent->kernel_class).values;
    prior.resize(static_cast<Eigen::Index>(its.size()));
    for (std::size_t i = 0; i < its.size(); ++i)
      prior[static_cast<Eigen::Index>(i)] = static_cast<double>(its[i]);
  }
  if (tables_.edges()) prior = tree_prior(grid_.axes(), fit, sisters, std::move(prior));
  s.values = fit.solve(grid_, fit.points, fit.rows, std::vector<double>(fit.rows.size()), prior);
  std::vector<bool>& known = shapes_[name].supported;
  known = supported_nodes(grid_.axes(), fit.rows);
  if (parent) {
    const std::vector<bool>& its = shapes_.at(parent->kernel_class).supported;
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = known[i] || its[i];
  }
  shapes_[name].values = s.values;
  extend_constant(grid_.axes(), known, s.values);
  for (float& v : s.values) {
    v = written(
        std::clamp(static_cast<double>(v), fit.lowest - kBeyondRows, fit.highest + kBeyondRows));
  }
  if (!series_grid_) return s;
  std::map<std::uint64_t, std::vector<const MeasuredPoint*>> by_key;
  for (const MeasuredPoint* p : fit.points) {
    if (p->series != 0) by_key[p->series].push_back(p);
  }
  for (const auto& [key, of] : by_key) {
    if (of.size() < kLeastSeriesRows) continue;
    std::vector<GridRow> rows;
    std::vector<double> offset;
    for (const MeasuredPoint* p : of) {
      offset.push_back(s.at(cell_at(grid_.axes(), p->x)));
      rows.push_back({cell_at(series_grid_->axes(), p->along), fit.target(*p) - offset.back(), 1});
    }
    s.series.push_back({key, fit.solve(*series_grid_, of, rows, offset, {})});
    extend_constant(series_grid_->axes(), supported_nodes(series_grid_->axes(), rows),
                    s.series.back().values);
    for (float& v : s.series.back().values)
      v = written(std::clamp(static_cast<double>(v), -2.0, 2.0));
  }
  return s;
}

Surface fit_surface(const std::string& name, const KernelFamily& family,
                    const std::vector<MeasuredPoint>& points, Seconds floor) {
  return ClassFitter(family, {.smoothness = tables_of(family).smoothness()})
      .fit(name, points, nullptr, {}, floor);
}

}  // namespace orrery
