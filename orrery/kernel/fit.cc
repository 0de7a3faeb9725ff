#include "orrery/kernel/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/boosted_trees.h"
#include "orrery/kernel/eager_fit.h"
#include "orrery/kernel/elementwise_fit.h"
#include "orrery/kernel/families.h"
#include "orrery/kernel/grid_fit.h"
#include "orrery/kernel/samples.h"
#include "orrery/kernel/surface.h"
#include "orrery/kernel/sweep_rows.h"

namespace orrery {
namespace {

constexpr double kFloorShare = 0.6;     // of the fastest call
constexpr double kBeyondRows = 0.5;     // how far values may lie outside those of rows
constexpr double kClearlyWork = 0.5;    // share of a time above the floor that tells an efficiency
constexpr double kSeriesRidge = 0.003;  // of a series to its surface
constexpr std::ptrdiff_t kLeastRows = 40;
constexpr std::size_t kLeastSeriesRows = 6;
constexpr double kLeastOwn = 0.01;  // neighbouring rows of the best series differ as much
// Errors have heavier tails than a normal distribution: sigma is this much (in logs) that which
// the 90 % point of the errors gives, the rest that of their median.
constexpr double kOfNinety = 0.5;

// How a family's surfaces are solved for.
struct Solving {
  std::vector<AxisSmoothness> smoothness;
  double huber = 0.05;  // log error beyond which a row pulls no harder
  int rounds = 4;       // of Huber weights, and of steps
  Steps steps = {};
};

Solving plain_solving(const KernelFamily& family) { return {.smoothness = family.smoothness()}; }

// Libraries change the kernel of a product on lines that are no node's (tiles, waves, split k), and
// sweeps are dense: stiff, but free to step. The values are those of the least error on other rows
// than those left out (docs/kernels.md).
Solving solving_of(const KernelFamily& family) {
  if (family.name() != "gemm") return plain_solving(family);
  return {{{0.0002, 0.009, 0.3}, {0.001, 0.045, 1.5}, {0.001, 0.045, 1.5}}, 0.03, 6, {0.03, 0.01}};
}

GridFit surface_grid(const KernelFamily& family, const Solving& solving) {
  return GridFit({family.axes()}, solving.smoothness, family.exchange(), 0, solving.steps);
}

double predicted(const SurfaceFile& file, const Surface& s, const MeasuredPoint& p) {
  return std::max(s.floor.value() + p.base * std::exp(file.at(s, p)), p.least);
}

// One class's rows while its surface is fitted.
struct Fitting {
  Solving solving;
  std::vector<const MeasuredPoint*> points;
  std::vector<GridRow> rows;  // of the points
  double floor = 0;
  double lowest = 0, highest = 0;  // what rows show of the surface; the rest stays near it

  Fitting(const std::vector<MeasuredPoint>& all, std::optional<Seconds> known_floor,
          const Solving& how)
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

  // The values that explain `rows`; rows far off pull no harder than those at Solving::huber.
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
        const double error = round == 0 ? 0 : std::abs(std::log(v));
        of_rows[i].weight =
            explained * explained * (error > solving.huber ? solving.huber / error : 1);
      }
      values = grid.solve(of_rows, prior, values);
    }
    std::vector<float> out;
    for (double v : values) out.push_back(static_cast<float>(v));
    return out;
  }
};

// What a kernel may change with: the coordinates, logs of sizes, and the sums of two and more of
// them, logs of products (bytes, work, blocks of a launch).
std::vector<double> traits_of(std::span<const double> x) {
  std::vector<double> out;
  for (unsigned of = 1; of < 1u << x.size(); ++of) {
    double sum = 0;
    for (std::size_t a = 0; a < x.size(); ++a) sum += of >> a & 1 ? x[a] : 0;
    out.push_back(sum);
  }
  return out;
}

// Adds to the values of the nodes what boosted trees see in the rows. Nodes between rows follow
// them, instead of a plain line: the solver smooths what is left.
Eigen::VectorXd tree_prior(const SurfaceAxes& axes, const Fitting& fit, Eigen::VectorXd prior) {
  const std::size_t n = axes.nodes.size(), traits = (1u << n) - 1;
  if (prior.size() == 0) prior = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(axes.size()));
  std::vector<std::vector<double>> of_rows(traits), of_nodes(traits);
  std::vector<double> target, weight;
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    const MeasuredPoint& p = *fit.points[i];
    const std::vector<double> t = traits_of({p.x.data(), n});
    for (std::size_t f = 0; f < traits; ++f) of_rows[f].push_back(t[f]);
    double at = 0;
    const SurfaceCell& cell = fit.rows[i].cell;
    for (std::size_t c = 0; c < cell.count; ++c)
      at += cell.weight[c] * prior[static_cast<Eigen::Index>(cell.index[c])];
    target.push_back(fit.target(p) - at);
    const double explained = (p.time - fit.floor) / p.time;
    weight.push_back(explained * explained);
  }
  std::vector<double> x(n);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t stride = axes.size();
    for (std::size_t a = 0; a < n; ++a) {
      stride /= axes.nodes[a].size();
      x[a] = axes.nodes[a][i / stride % axes.nodes[a].size()];
    }
    const std::vector<double> t = traits_of(x);
    for (std::size_t f = 0; f < traits; ++f) of_nodes[f].push_back(t[f]);
  }
  const std::vector<double> seen = BoostedTrees(of_rows, target, weight)(of_nodes);
  for (std::size_t i = 0; i < seen.size(); ++i) prior[static_cast<Eigen::Index>(i)] += seen[i];
  return prior;
}

// A class's surface before it is made constant where no rows tell of it.
struct FittedShape {
  std::vector<float> values;
  std::vector<bool> supported;
};

// `parent`: the surface of the class that would stand in for this one, or null. Where there are no
// rows the surface follows its shape.
Surface fit_class(const std::string& name, const KernelFamily& family, const Solving& solving,
                  const GridFit& grid, const GridFit* series_grid,
                  const std::vector<MeasuredPoint>& points, const Surface* parent,
                  std::map<std::string, FittedShape>& shapes, std::optional<Seconds> floor = {}) {
  Fitting fit(points, floor, solving);
  Surface s;
  s.kernel_class = name;
  s.floor = Seconds(fit.floor);
  for (const MeasuredPoint* p : fit.points)
    fit.rows.push_back({cell_at(grid.axes(), p->x), fit.target(*p), 1});
  Eigen::VectorXd prior;
  if (parent) {
    const std::vector<float>& its = shapes.at(parent->kernel_class).values;
    prior.resize(static_cast<Eigen::Index>(its.size()));
    for (std::size_t i = 0; i < its.size(); ++i)
      prior[static_cast<Eigen::Index>(i)] = static_cast<double>(its[i]);
  }
  if (family.edges()) prior = tree_prior(grid.axes(), fit, std::move(prior));
  s.values = fit.solve(grid, fit.points, fit.rows, std::vector<double>(fit.rows.size()), prior);
  std::vector<bool>& known = shapes[name].supported;
  known = supported_nodes(grid.axes(), fit.rows);
  if (parent) {
    const std::vector<bool>& its = shapes.at(parent->kernel_class).supported;
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = known[i] || its[i];
  }
  shapes[name].values = s.values;
  extend_constant(grid.axes(), known, s.values);
  for (float& v : s.values) {
    v = written(
        std::clamp(static_cast<double>(v), fit.lowest - kBeyondRows, fit.highest + kBeyondRows));
  }
  if (!series_grid) return s;
  std::map<std::uint64_t, std::vector<const MeasuredPoint*>> by_key;
  for (const MeasuredPoint* p : fit.points) {
    if (p->series != 0) by_key[p->series].push_back(p);
  }
  for (const auto& [key, of] : by_key) {
    if (of.size() < kLeastSeriesRows) continue;
    std::vector<GridRow> rows;
    std::vector<double> offset;
    for (const MeasuredPoint* p : of) {
      offset.push_back(s.at(cell_at(grid.axes(), p->x)));
      rows.push_back({cell_at(series_grid->axes(), p->along), fit.target(*p) - offset.back(), 1});
    }
    s.series.push_back({key, fit.solve(*series_grid, of, rows, offset, {})});
    extend_constant(series_grid->axes(), supported_nodes(series_grid->axes(), rows),
                    s.series.back().values);
    for (float& v : s.series.back().values)
      v = written(std::clamp(static_cast<double>(v), -2.0, 2.0));
  }
  return s;
}

// The own error that makes, with `shared`, intervals of these errors' spread.
double own_error(const std::vector<double>& logs, double shared) {
  std::vector<double> absolute;
  for (double l : logs) absolute.push_back(std::abs(l));
  const double ninety = quantile(absolute, 0.9) / normal_quantile(0.95),
               fifty = quantile(absolute, 0.5) / normal_quantile(0.75);
  const double sigma = std::pow(ninety, kOfNinety) * std::pow(fifty, 1 - kOfNinety);
  return std::max(kLeastOwn, std::sqrt(std::max(0.0, sigma * sigma - shared * shared)));
}

}  // namespace

Surface fit_surface(const std::string& name, const KernelFamily& family,
                    const std::vector<MeasuredPoint>& points, Seconds floor) {
  std::map<std::string, FittedShape> shapes;
  const Solving solving = plain_solving(family);
  return fit_class(name, family, solving, surface_grid(family, solving), nullptr, points, nullptr,
                   shapes, floor);
}

// Of the surface's errors shared is the median, own such that both together give the intervals.
KernelFitRow judge_surface(const SurfaceFile& file, Surface& s,
                           const std::vector<MeasuredPoint>& points) {
  constexpr std::size_t kLeastOfRegime = 20;
  KernelFitRow row;
  std::vector<double> percent, logs;
  std::array<std::vector<double>, 4> by_regime;
  double sum = 0;
  for (const MeasuredPoint& p : points) {
    if (!p.left_out) {
      ++row.fitted;
      continue;
    }
    const double v = predicted(file, s, p);
    percent.push_back(100 * std::abs(v / p.time - 1));
    logs.push_back(std::log(p.time / v));
    by_regime[Surface::regime_of(s.floor.value() / v)].push_back(logs.back());
    sum += 100 * (v / p.time - 1);
  }
  row.left_out = percent.size();
  if (percent.empty()) return row;
  for (double p : percent) row.mape += p / static_cast<double>(percent.size());
  row.median = quantile(percent, 0.5);
  row.bias = sum / static_cast<double>(percent.size());
  s.shared = std::abs(quantile(logs, 0.5));
  s.own = own_error(logs, s.shared);
  for (std::size_t r = 0; r < s.regimes.size(); ++r) {
    if (by_regime[r].size() >= kLeastOfRegime)
      s.regimes[r] = own_error(by_regime[r], s.shared) / s.own;
  }
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
  const bool is_sweep = check_sweep(dir, fit.refused);
  if (only.empty() || only == elementwise_family().name()) {
    if (is_sweep) {
      fit_swept_elementwise(dir, date, bundle, gpus, fit);
    } else {
      fit_elementwise(dir, date, bundle, fit);
    }
  }
  for (const KernelFamily* family : kernel_families()) {
    if (family == &elementwise_family() || family->tables().empty()) continue;
    if (only.empty() ? family->of_sweeps() && !is_sweep : family->name() != only) continue;
    // A sweep has no tables of the other families.
    const std::vector<std::string> tables = family->tables();
    if (is_sweep && only.empty() &&
        std::none_of(tables.begin(), tables.end(),
                     [&](const std::string& table) { return table_file(dir, table); }))
      continue;
    const Solving solving = solving_of(*family);
    const GridFit grid = surface_grid(*family, solving);
    std::optional<GridFit> series_grid;
    if (!family->series_axes().empty())
      series_grid.emplace(SurfaceAxes{family->series_axes()}, family->series_smoothness(),
                          Exchange{}, kSeriesRidge);
    FamilySamples data = read_samples(dir, *family, catalog, fit.refused, gpus);
    for (auto& [key, classes] : data) {
      SurfaceFile file;
      file.axes = {family->axes()};
      file.series_axes = {family->series_axes()};
      std::string errors;
      std::map<std::string, FittedShape> shapes;  // by class
      for (const std::string& name : parents_first(*family, classes)) {
        const ClassSamples& c = classes.at(name);
        const auto fitted = std::count_if(c.points.begin(), c.points.end(),
                                          [](const MeasuredPoint& p) { return !p.left_out; });
        if (fitted < kLeastRows) continue;
        Surface s = fit_class(name, *family, solving, grid, series_grid ? &*series_grid : nullptr,
                              c.points, parent_of(name, *family, file), shapes);
        KernelFitRow row = judge_surface(file, s, c.points);
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
