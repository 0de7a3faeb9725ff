#include "orrery/kernel/fit/fit.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/fit/class_fit.h"
#include "orrery/kernel/fit/eager_fit.h"
#include "orrery/kernel/fit/elementwise_fit.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/kernel/tables/sweep_rows.h"
#include "orrery/kernel/tiers/transfer.h"

namespace orrery {
namespace {

constexpr std::ptrdiff_t kLeastClassRows = 40;
constexpr double kLeastOwn = 0.01;  // neighbouring rows of the best series differ as much
// Sigma is this much (in logs) that which the 90 % point of the errors gives, the rest that of
// their median: heavy_quantile's.
constexpr double kOfNinety = 0.5;

double predicted(const SurfaceFile& file, const Surface& s, const MeasuredPoint& p) {
  return std::max(s.floor.value() + p.base * std::exp(file.at(s, p)), p.least);
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

std::string to_text(const KernelFitRow& row) {
  return fmt::format("{} rows, {} left out: mape {:.1f}, median {:.1f}, bias {:+.1f} %", row.fitted,
                     row.left_out, row.mape, row.median, row.bias);
}

// The shared error of the surface becomes the median of the logarithms. Its own error becomes that
// with which the intervals hold the shares of rows that they state.
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
    by_regime[Surface::regime_of(s.floor.value(), v)].push_back(logs.back());
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

const KernelClass* class_named(const KernelFamily& family, const std::string& name) {
  for (const KernelClass& c : family.classes()) {
    if (c.sources.front().name == name) return &c;
  }
  return nullptr;
}

// The first of the class's substitutes that is fitted.
const Surface* parent_of(const std::string& name, const KernelFamily& family,
                         const SurfaceFile& fitted) {
  const KernelClass* c = class_named(family, name);
  for (std::size_t i = 1; c && i < c->sources.size(); ++i) {
    if (const Surface* s = fitted.find(c->sources[i].name)) return s;
  }
  return nullptr;
}

// Names of classes; a substitute comes before the classes that it substitutes.
std::vector<std::string> parents_first(const KernelFamily& family,
                                       const std::map<std::string, ClassSamples>& classes) {
  std::vector<std::string> order;
  std::set<std::string> seen;  // classes may be substitutes of each other
  const auto visit = [&](const std::string& name, const auto& self) -> void {
    if (!classes.contains(name) || !seen.insert(name).second) return;
    if (const KernelClass* c = class_named(family, name)) {
      for (std::size_t i = 1; i < c->sources.size(); ++i) self(c->sources[i].name, self);
    }
    order.push_back(name);
  };
  for (const auto& [name, samples] : classes) visit(name, visit);
  return order;
}

struct FittedFile {
  std::vector<KernelFitRow> rows;
  std::string text;  // empty: no class has enough rows
};

// The rows of a class that GPUs of the same generation have, by framework.
std::vector<const std::vector<MeasuredPoint>*> sisters_of(
    const FamilySamples& data, const std::pair<std::string, std::string>& key,
    const std::string& kernel_class, const Catalog& catalog) {
  std::vector<const std::vector<MeasuredPoint>*> out;
  for (const auto& [other, classes] : data) {
    if (other.first != key.first || other.second == key.second) continue;
    const auto it = classes.find(kernel_class);
    if (it == classes.end()) continue;
    if (distance(catalog.gpu(key.second), catalog.gpu(other.second)) < kOtherGeneration)
      out.push_back(&it->second.points);
  }
  return out;
}

// The classes of one framework on one GPU.
FittedFile fit_file(const KernelFamily& family, const FamilySamples& data,
                    const std::pair<std::string, std::string>& key, const std::string& date,
                    const Catalog& catalog) {
  const std::map<std::string, ClassSamples>& classes = data.at(key);
  FittedFile out;
  SurfaceFile file;
  file.axes = {family.axes()};
  file.series_axes = {family.series_axes()};
  std::string errors;
  ClassFitter fitter(family);
  for (const std::string& name : parents_first(family, classes)) {
    const ClassSamples& c = classes.at(name);
    const auto fitted = std::count_if(c.points.begin(), c.points.end(),
                                      [](const MeasuredPoint& p) { return !p.left_out; });
    if (fitted < kLeastClassRows) continue;
    Surface s = fitter.fit(name, c.points, parent_of(name, family, file),
                           sisters_of(data, key, name, catalog));
    KernelFitRow row = judge_surface(file, s, c.points);
    row.family = family.name();
    row.framework = key.first;
    row.gpu = key.second;
    row.kernel_class = name;
    errors += fmt::format("# {}: {}, {}{}\n", name, fmt::join(c.versions, " "), to_text(row),
                          c.impossible ? fmt::format("; {} too fast", c.impossible) : "");
    file.surfaces.push_back(std::move(s));
    out.rows.push_back(std::move(row));
  }
  if (file.surfaces.empty()) return out;
  file.comment =
      fmt::format("# Made by `orrery fit kernels --data DIR` from {} on {}: do not edit.\n{}",
                  fmt::join(tables_of(family).tables(), ", "), date, errors);
  out.text = to_text(file);
  return out;
}

}  // namespace

KernelFit fit_kernels(const std::filesystem::path& dir, const std::string& only,
                      const std::string& date, const Bundle& bundle,
                      const std::set<std::string>& gpus, PartMeter* meter) {
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
  expect_parts(meter, all_kernel_tables().size());
  for (const KernelTables* its : all_kernel_tables()) {
    finish_parts(meter);
    const KernelFamily* family = &its->family();
    if (family == &elementwise_family()) continue;
    if (only.empty() ? its->of_sweeps() && !is_sweep : family->name() != only) continue;
    // A sweep has no tables of the other families.
    const std::vector<std::string> tables = its->tables();
    if (is_sweep && only.empty() &&
        std::none_of(tables.begin(), tables.end(),
                     [&](const std::string& table) { return table_file(dir, table); }))
      continue;
    const FamilySamples data = read_samples(dir, *its, catalog, fit.refused, gpus);
    std::vector<std::pair<std::string, std::string>> keys;
    for (const auto& [key, classes] : data) keys.push_back(key);
    std::vector<FittedFile> fitted(keys.size());
    tbb::parallel_for(std::size_t{0}, keys.size(), [&](std::size_t i) {
      fitted[i] = fit_file(*family, data, keys[i], date, catalog);
    });
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::move(fitted[i].rows.begin(), fitted[i].rows.end(), std::back_inserter(fit.rows));
      if (!fitted[i].text.empty())
        fit.files.emplace_back(surface_path(family->name(), keys[i].first, keys[i].second),
                               compressed_surfaces(fitted[i].text));
    }
  }
  return fit;
}

}  // namespace orrery
