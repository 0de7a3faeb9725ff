#include "orrery/kernel/transfer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/samples.h"
#include "orrery/kernel/surface.h"
#include "orrery/kernel/transfer.h"

namespace orrery {
namespace {

// The left-out rows of one class under the surface of another GPU.
std::vector<double> log_errors(const ClassSamples& samples, const ServingSurface& s) {
  std::vector<double> logs;
  for (const MeasuredPoint& p : samples.points) {
    if (!p.left_out) continue;
    const double work = p.base * std::exp(s.file->at(*s.surface, p)) * s.factor;
    logs.push_back(std::log(std::max(s.surface->floor.value() + work, p.least) / p.time));
  }
  return logs;
}

void add_class(const std::vector<double>& logs, TransferRow& row, std::vector<double>& percent) {
  const double median = quantile(logs, 0.5);
  std::vector<double> rest;
  for (double l : logs) {
    rest.push_back(std::abs(l - median));
    const double error = 100 * std::expm1(l);
    percent.push_back(std::abs(error));
    row.bias += error;
  }
  ++row.classes;
  row.rows += logs.size();
  row.shared += median * median;
  row.own += quantile(rest, 0.9) / normal_quantile(0.95);
}

void finish(TransferRow& row, const std::vector<double>& percent) {
  const double n = static_cast<double>(row.rows), classes = static_cast<double>(row.classes);
  for (double p : percent) row.mape += p / n;
  row.median = quantile(percent, 0.5);
  row.bias /= n;
  row.shared = std::sqrt(row.shared / classes);
  row.own /= classes;
}

}  // namespace

std::vector<TransferRow> transfer_report(const std::filesystem::path& dir, const std::string& only,
                                         const Bundle& bundle, std::vector<std::string>& refused) {
  constexpr std::size_t kLeastRows = 20;
  const Catalog catalog(bundle);
  std::vector<TransferRow> out;
  for (const KernelFamily* family : kernel_families()) {
    if (family->tables().empty() || (!only.empty() && family->name() != only)) continue;
    const FamilySamples samples = read_samples(dir, *family, catalog, refused);
    std::map<std::pair<std::string, std::string>, SurfaceFile> files;  // as the samples
    for (const auto& [key, classes] : samples) {
      const auto file = bundle.find(surface_path(family->name(), key.first, key.second));
      if (file) files.emplace(key, parse_surfaces(file->content, file->name));
    }
    std::map<std::pair<std::string, std::string>, std::pair<TransferRow, std::vector<double>>> rows;
    for (const auto& [key, classes] : samples) {
      const auto& [framework, id] = key;
      const Gpu gpu = catalog.gpu(id);
      std::vector<MeasuredGpu> relatives;
      for (const auto& [other, file] : files) {
        if (other.first != framework || other.second == id) continue;
        relatives.push_back({other.second, false, distance(gpu, catalog.gpu(other.second))});
      }
      std::sort(relatives.begin(), relatives.end(),
                [](const auto& a, const auto& b) { return a.distance < b.distance; });
      const auto load = [&](const std::string& other) -> const SurfaceFile& {
        return files.at({framework, other});
      };
      for (const KernelFamily::KernelClass& wanted : family->classes()) {
        const auto measured = classes.find(wanted.choices.front().name);
        if (measured == classes.end()) continue;
        const ServingSurface s = choose_surface(family->name(), wanted, relatives, load);
        if (!s.surface) continue;
        const std::vector<double> logs = log_errors(measured->second, s);
        if (logs.size() < kLeastRows) continue;
        auto& [row, percent] = rows[{id, s.gpu}];
        row.family = family->name();
        row.gpu = id;
        row.relative = s.gpu;
        row.distance = distance(gpu, catalog.gpu(s.gpu));
        add_class(logs, row, percent);
      }
    }
    for (auto& [key, row] : rows) {
      finish(row.first, row.second);
      out.push_back(row.first);
    }
  }
  return out;
}

}  // namespace orrery
