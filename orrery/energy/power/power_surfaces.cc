#include "orrery/energy/power/power_surfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr std::string_view kFolder = "power/surfaces";

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

PowerSurfaces::PowerSurfaces(const Bundle& bundle, std::string_view gpu) {
  const std::string ending = fmt::format("-{}.txt.gz", gpu);
  for (const std::string& path : bundle.list(kFolder, ending)) {
    const auto file = bundle.find(path);
    if (!file) continue;
    std::string_view rest = std::string_view(path).substr(kFolder.size() + 1);
    const std::string_view family = rest.substr(0, rest.find('/'));
    rest.remove_prefix(family.size() + 1);
    const std::string_view framework = rest.substr(0, rest.size() - ending.size());
    add(family, framework,
        parse_surfaces(inflated_surfaces(file->content, file->name), file->name));
  }
}

void PowerSurfaces::add(std::string_view family, std::string_view framework, SurfaceFile file) {
  files_.insert_or_assign({std::string(family), std::string(framework)}, std::move(file));
}

std::optional<PowerSurfaces::Correction> PowerSurfaces::reading(std::string_view family,
                                                                std::string_view framework,
                                                                std::string_view kernel_class,
                                                                const SurfacePlace& place,
                                                                Seconds time) const {
  const auto file = files_.find({std::string(family), std::string(framework)});
  if (file == files_.end()) return {};
  const Surface* surface = file->second.find(kernel_class);
  if (surface == nullptr) return {};
  const double trusted =
      std::max(0.0, 1 - std::max(0.0, surface->measured_range.distance(place)) / kFarAway);
  const double log =
      std::clamp(file->second.at(*surface, place), -kMostCorrection, kMostCorrection);
  return Correction{trusted * log, surface->own * surface->regimes[time < kOwnTime ? 1 : 0],
                    trusted};
}

}  // namespace orrery
