#include "orrery/validate/energy/surface_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/fit.h"
#include "orrery/kernel/fit/grid_fit.h"
#include "orrery/validate/energy/fit_energy.h"

namespace orrery {
namespace {

constexpr std::array kStiffness = {1.0, 3.0, 10.0, 30.0};
constexpr double kNodeDistance = 2;  // doublings between nodes of sizes
constexpr double kHuber = 0.1;       // log error above which a reading pulls no harder
constexpr int kRounds = 4;
constexpr double kRidge = 1e-4;          // to the law, of every node
constexpr std::size_t kLeastCalls = 20;  // of a class with a surface
constexpr std::size_t kEnough = 10;      // left-out calls that tell an error
constexpr unsigned kInnerFolds = 6;      // one of which is held back to choose the stiffness

// A reading and what the law says of it.
struct Reading {
  const KernelPowerRow* row;
  SurfacePlace place;
  double target = 0;  // log of the reading over the law
  double most = 0;    // log of the board's power at its limit over the law
  bool held = false;  // kept back to choose the stiffness
};
struct Group {
  std::string family, framework, gpu;
  auto operator<=>(const Group&) const = default;
};
using Classes = std::map<std::string, std::vector<Reading>>;

std::vector<std::vector<double>> size_axes(const KernelFamily& family) {
  std::vector<std::vector<double>> axes;
  for (const std::vector<double>& all : family.axes()) {
    std::vector<double>& nodes = axes.emplace_back(1, all.front());
    for (const double x : all)
      if (x - nodes.back() >= kNodeDistance - 1e-9) nodes.push_back(x);
    if (nodes.size() < 2) nodes.push_back(all.back());
  }
  return axes;
}

// Utilisations from 2^-12 to 1, times from 4 us to 16 ms.
std::vector<std::vector<double>> use_axes() {
  const std::vector<double> use = {-12, -10, -8, -6, -4, -2, 0}, time = {2, 4, 6, 8, 10, 12, 14};
  return {use, use, time};
}

std::map<Group, Classes> grouped(const std::vector<KernelPowerRow>& rows,
                                 const KernelActivity& activity, const BoardPowers& boards) {
  std::map<Group, Classes> groups;
  for (const KernelPowerRow& r : rows) {
    if (r.steady) continue;
    Gpu gpu;
    gpu.id = r.gpu, gpu.power = r.limit;
    const BoardPower board = boards.of(gpu);
    const Watts law = predicted_power(r, activity, board);
    SurfacePlace sizes;
    sizes.x = r.sizes;
    const std::string shape = fmt::format("{} {:.4f}", r.family->name(), fmt::join(r.sizes, " "));
    groups[{std::string(r.family->name()), r.framework, r.gpu}][r.kernel_class].push_back(
        {&r, power_place(sizes, r.used, r.time),
         std::clamp(std::log(r.power / law), -kMostCorrection, kMostCorrection),
         std::log(board.limit * board.regulated / law), leave_out_by_hash(shape, kInnerFolds)});
  }
  return groups;
}

// Coordinates of a reading on one of the grids.
using Coordinates = std::span<const double> (*)(const Reading&);

double value_at(const SurfaceCell& cell, const Eigen::VectorXd& values) {
  double sum = 0;
  for (std::size_t c = 0; c < cell.count; ++c)
    sum += cell.weight[c] * values[static_cast<Eigen::Index>(cell.index[c])];
  return sum;
}

// Fits a grid to `left` and takes what it explains out of it.
std::vector<float> fit_grid(const GridFit& grid, const std::vector<const Reading*>& readings,
                            Coordinates at, std::vector<double>& left) {
  const auto n = static_cast<Eigen::Index>(grid.axes().size());
  const Eigen::VectorXd prior = Eigen::VectorXd::Zero(n);
  Eigen::VectorXd values = prior;
  std::vector<GridRow> rows;
  for (std::size_t i = 0; i < readings.size(); ++i)
    rows.push_back({cell_at(grid.axes(), at(*readings[i])), left[i], 1});
  for (int round = 0; round < kRounds; ++round) {
    for (GridRow& row : rows) {
      const double error = round == 0 ? 0 : value_at(row.cell, values) - row.target;
      row.weight = huber_weight(error, kHuber);
    }
    values = grid.solve(rows, prior, values);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) left[i] -= value_at(rows[i].cell, values);
  std::vector<float> out;
  for (const double v : values)
    out.push_back(written(std::clamp(v, -2 * kMostCorrection, 2 * kMostCorrection)));
  return out;
}

std::vector<AxisSmoothness> smoothness(std::size_t axes, double first, double second, double mixed,
                                       double stiffness) {
  return std::vector<AxisSmoothness>(axes,
                                     {first * stiffness, second * stiffness, mixed * stiffness});
}

// Fits the classes of a file. `all`: held-back readings are fitted, too.
SurfaceFile fit_file(const KernelFamily& family, const Classes& classes, double stiffness,
                     bool all) {
  SurfaceFile file;
  file.axes.nodes = size_axes(family), file.series_axes.nodes = use_axes();
  const GridFit sizes(file.axes, smoothness(file.axes.nodes.size(), 0.001, 0.003, 0.04, stiffness),
                      {}, kRidge);
  const GridFit use(file.series_axes,
                    smoothness(file.series_axes.nodes.size(), 0.001, 0.001, 0.005, stiffness), {},
                    kRidge);
  for (const auto& [name, readings] : classes) {
    std::vector<const Reading*> fitted;
    std::vector<double> left;
    Surface s;
    s.kernel_class = name;
    s.measured_range.low.fill(MeasuredRange::kNone);
    s.measured_range.high.fill(-MeasuredRange::kNone);
    s.measured_range.most = -MeasuredRange::kNone;
    for (const Reading& r : readings) {
      double sum = 0;  // being left out says nothing about the range of a sweep
      for (std::size_t a = 0; a < kMostAxes; ++a) {
        s.measured_range.low[a] = std::min(s.measured_range.low[a], r.place.x[a]);
        s.measured_range.high[a] = std::max(s.measured_range.high[a], r.place.x[a]);
        sum += r.place.x[a];
      }
      s.measured_range.most = std::max(s.measured_range.most, sum);
      if (r.row->left_out || (r.held && !all)) continue;
      fitted.push_back(&r), left.push_back(r.target);
    }
    if (fitted.size() < kLeastCalls) continue;
    s.series.push_back(
        {kUseSeries,
         fit_grid(
             use, fitted, [](const Reading& r) { return std::span<const double>(r.place.along); },
             left)});
    s.values = fit_grid(
        sizes, fitted, [](const Reading& r) { return std::span<const double>(r.place.x); }, left);
    file.surfaces.push_back(std::move(s));
  }
  return file;
}

// The errors of readings that `judges`, in the logarithm.
template <typename Judges>
void add_errors(const SurfaceFile& file, const Surface& s, const std::vector<Reading>& readings,
                Judges judges, std::vector<double>& errors) {
  for (const Reading& r : readings) {
    if (!judges(r)) continue;
    const double log = std::clamp(file.at(s, r.place), -kMostCorrection, kMostCorrection);
    errors.push_back(std::abs(std::min(log, r.most) - r.target));
  }
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / real(values.size());
}

// Sets the errors of the surfaces from left-out readings.
void set_errors(SurfaceFile& file, const Classes& classes) {
  const auto judges = [](bool whole) {
    return
        [whole](const Reading& r) { return r.row->left_out && (r.row->time >= kOwnTime) == whole; };
  };
  std::vector<double> family_long, family_short;
  for (const Surface& s : file.surfaces) {
    add_errors(file, s, classes.at(s.kernel_class), judges(true), family_long);
    add_errors(file, s, classes.at(s.kernel_class), judges(false), family_short);
  }
  for (Surface& s : file.surfaces) {
    std::vector<double> own, brief;
    add_errors(file, s, classes.at(s.kernel_class), judges(true), own);
    add_errors(file, s, classes.at(s.kernel_class), judges(false), brief);
    if (own.size() < kEnough) own = family_long;
    if (brief.size() < kEnough) brief = family_short;
    // 1.25 mean absolute errors are a standard deviation.
    constexpr double kLeast = 0.02, kUnknown = 0.15;
    s.own = own.empty() ? kUnknown : std::max(kLeast, 1.25 * mean_of(own));
    if (!brief.empty()) s.regimes[1] = std::max(kLeast, 1.25 * mean_of(brief)) / s.own;
  }
}

}  // namespace

FittedSurfaces fit_power_surfaces(const std::vector<KernelPowerRow>& rows,
                                  const KernelActivity& activity, const BoardPowers& boards,
                                  const std::string& recipe) {
  const std::map<Group, Classes> groups = grouped(rows, activity, boards);
  const auto family_of = [](const Classes& classes) -> const KernelFamily& {
    return *classes.begin()->second.front().row->family;
  };
  FittedSurfaces out;
  double least = 0;
  for (const double stiffness : kStiffness) {
    std::vector<double> errors;
    for (const auto& [group, classes] : groups) {
      const SurfaceFile file = fit_file(family_of(classes), classes, stiffness, false);
      for (const Surface& s : file.surfaces)
        add_errors(
            file, s, classes.at(s.kernel_class),
            [](const Reading& r) { return r.held && !r.row->left_out; }, errors);
    }
    const double error = mean_of(errors);
    if (out.stiffness == 0 || error < least) least = error, out.stiffness = stiffness;
  }
  for (const auto& [group, classes] : groups) {
    SurfaceFile file = fit_file(family_of(classes), classes, out.stiffness, true);
    if (file.surfaces.empty()) continue;
    set_errors(file, classes);
    file.comment = fmt::format(
        "# Made by `orrery fit energy`: do not edit. Corrections of orrery/energy/power/"
        "power_surfaces.h.\n# {}, stiffness {}\n",
        recipe, out.stiffness);
    out.files[power_surface_path(group.family, group.framework, group.gpu)] = std::move(file);
  }
  return out;
}

std::optional<PowerSurfaces::Correction> correction_of(const PowerSurfaces& surfaces,
                                                       const KernelPowerRow& row) {
  SurfacePlace sizes;
  sizes.x = row.sizes;
  return surfaces.reading(row.family->name(), row.framework, row.kernel_class,
                          power_place(sizes, row.used, row.time), row.time);
}

}  // namespace orrery
