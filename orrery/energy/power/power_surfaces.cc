#include "orrery/energy/power/power_surfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/kernel/tiers/transfer.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "power/surfaces", kEnding = ".txt.gz";

struct Chosen {
  std::string path;
  double distance = 0;  // of the GPU that it is of; 0: the one that is asked about
};

// The path of the nearest GPU for each family and framework. A framework's name has no '-'.
std::map<std::pair<std::string, std::string>, Chosen> nearest(const std::vector<std::string>& paths,
                                                              const Catalog& catalog,
                                                              const Gpu& gpu) {
  std::map<std::string, double> distances;  // by the id of the GPU
  std::map<std::pair<std::string, std::string>, Chosen> out;
  for (const std::string& path : paths) {
    const std::size_t family = kFolder.size() + 1, framework = path.find('/', family) + 1,
                      of = path.find('-', framework) + 1;
    const std::string id = path.substr(of, path.size() - kEnding.size() - of);
    const auto [known, added] = distances.try_emplace(id, 0);
    if (added && id != gpu.id) {
      const Gpu other = catalog.gpu(id);
      // Two GPUs with the same data sheet are still two.
      constexpr double kLeast = 1e-6;
      known->second = other.vendor == gpu.vendor
                          ? std::max(kLeast, distance(KernelGpu(gpu), KernelGpu(other)))
                          : kFarthestRelative + 1;
    }
    if (known->second > kFarthestRelative) continue;
    const auto [at, first] = out.try_emplace(
        {path.substr(family, framework - 1 - family), path.substr(framework, of - 1 - framework)},
        Chosen{path, known->second});
    if (!first && known->second < at->second.distance) at->second = {path, known->second};
  }
  return out;
}

}  // namespace

double own_share(Seconds time) {
  constexpr double kRepeats = 3000;
  constexpr Seconds kShortRun = seconds(0.3), kMeanOf = seconds(1);
  if (time >= kOwnTime) return 1;
  return std::min(kShortRun, time * kRepeats) / kMeanOf;
}

SurfacePlace power_place(const SurfacePlace& sizes, const Utilisation& used, Seconds time) {
  constexpr double kLeast = 1e-6;  // of a utilisation: a call without FLOPs has none
  SurfacePlace place = sizes;
  place.series = kUseSeries;
  place.along = {std::log2(used.compute + kLeast), std::log2(used.memory + kLeast),
                 std::log2(time / microseconds(1))};
  return place;
}

std::string power_surface_path(std::string_view family, std::string_view framework,
                               std::string_view gpu) {
  return fmt::format("{}/{}/{}-{}.txt.gz", kFolder, family, framework, gpu);
}

PowerSurfaces::PowerSurfaces(const Bundle& bundle, const Catalog& catalog, const Gpu& gpu) {
  for (const auto& [key, chosen] : nearest(bundle.list(kFolder, kEnding), catalog, gpu)) {
    if (const auto file = bundle.find(chosen.path))
      add(key.first, key.second,
          parse_surfaces(inflated_surfaces(file->content, file->name), file->name),
          chosen.distance > 0);
  }
}

PowerSurfaces::PowerSurfaces(const std::map<std::string, SurfaceFile>& files,
                             const Catalog& catalog, const Gpu& gpu) {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files) paths.push_back(path);
  for (const auto& [key, chosen] : nearest(paths, catalog, gpu))
    add(key.first, key.second, files.at(chosen.path), chosen.distance > 0);
}

void PowerSurfaces::add(std::string_view family, std::string_view framework, SurfaceFile file,
                        bool relative) {
  files_.insert_or_assign({std::string(family), std::string(framework)},
                          Served{std::move(file), relative});
}

std::optional<PowerSurfaces::Correction> PowerSurfaces::reading(std::string_view family,
                                                                std::string_view framework,
                                                                std::string_view kernel_class,
                                                                const SurfacePlace& place,
                                                                Seconds time) const {
  const auto file = files_.find({std::string(family), std::string(framework)});
  if (file == files_.end()) return {};
  const auto& [surfaces, relative] = file->second;
  const Surface* surface = surfaces.find(kernel_class);
  if (surface == nullptr) return {};
  const double trusted =
      std::max(0.0, 1 - std::max(0.0, surface->measured_range.distance(place)) / kFarAway);
  const double log = std::clamp(surfaces.at(*surface, place), -kMostCorrection, kMostCorrection);
  return Correction{trusted * log, surface->own * surface->regimes[time < kOwnTime ? 1 : 0],
                    relative ? 0 : trusted};
}

}  // namespace orrery
