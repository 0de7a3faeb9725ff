// Corrections of the law of a kernel's power (kernel_activity.h) by readings of calls near to it.
//
//   reading = law * exp(c(call)),   c = sizes(x) + use(u)
//
// The law is of all GPUs and misses what a kernel does beside its FLOPs and bytes: waiting for the
// host inside a module, tiles that idle, data that stay in a cache. Calls of nearly the same size
// miss it alike. A class of a framework on one GPU has therefore two small grids: one in the
// coordinates x of its family (usually logarithms of sizes), one in the utilisations of the
// arithmetic and of the memory and the time of the call. Both are smooth, and pulled to 0 where
// there are few readings. Beyond the sizes that were read the correction falls to 0 over kFarAway
// doublings, where the law alone decides. It is never beyond kMostCorrection either way, and the
// power that follows lies between that of the awake board and its limit.
//
// A GPU without readings of a family and framework takes the surfaces of the nearest GPU of its
// vendor that has some, not farther than kFarthestRelative, as they are: what a kernel does beside
// its FLOPs and bytes is much the same. The error stays that of the law.
//
// A reading tells little of a short call. NVML's figure is the mean of a second. A call of 0.1 ms
// and more is repeated for a second, a shorter one for 0.3 s and never more than 3,000 times
// (validate/energy/kernel_power_rows.h), so that own_share() of its reading is its own and the rest
// is of what ran before. A correction of the power takes that share of the correction of the
// reading.
//
// catalog/power/surfaces/<family>/<framework>-<gpu>.txt.gz, made by `orrery fit energy` in the
// format of kernel/surface/surface.h: `use` is the series of key kUseSeries of a class, `own` the
// error of left-out calls of kOwnTime and more, and the second factor of `regimes` makes it that of
// shorter calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/bundle.h"
#include "orrery/energy/power/kernel_activity.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {

inline constexpr std::uint64_t kUseSeries = 1;
inline constexpr double kFarAway = 2;         // doublings
inline constexpr double kMostCorrection = 1;  // of the logarithm
// Calls from this time on are repeated for as long as NVML's mean reaches back.
inline constexpr Seconds kOwnTime = microseconds(100);

// The distance (kernel/tiers/transfer.h) of H200 and B200, 4.31, rounded up. Surfaces of the one
// serve the other: with both left out in turn the mean error of long calls falls from 27.1 to
// 25.3 %. Nothing is known of GPUs farther apart.
inline constexpr double kFarthestRelative = 4.4;

// The share of a reading that is of the call itself and not of what ran before.
double own_share(Seconds time);

// The place of a call on its surface. `sizes`: of KernelFamily::point.
SurfacePlace power_place(const SurfacePlace& sizes, const Utilisation& used, Seconds time);

// Path below catalog/.
std::string power_surface_path(std::string_view family, std::string_view framework,
                               std::string_view gpu);

class PowerSurfaces {
 public:
  PowerSurfaces() = default;  // corrects nothing
  // The surfaces of the catalog that serve a GPU. InputError: a file is damaged.
  PowerSurfaces(const Bundle& bundle, const Catalog& catalog, const Gpu& gpu);
  // The surfaces among `files`, which have their paths below catalog/, that serve a GPU.
  PowerSurfaces(const std::map<std::string, SurfaceFile>& files, const Catalog& catalog,
                const Gpu& gpu);

  // `relative`: it is of another GPU.
  void add(std::string_view family, std::string_view framework, SurfaceFile file,
           bool relative = false);

  struct Correction {
    double log = 0;    // of the reading over the law
    double error = 0;  // standard deviation of the logarithm of the reading
    // 1 among the sizes that were read, 0 far away from them: how far `error` stands in for that of
    // the law. 0 for the surface of another GPU.
    double trusted = 0;
  };
  // Nothing where no such call was read. `place`: power_place.
  std::optional<Correction> reading(std::string_view family, std::string_view framework,
                                    std::string_view kernel_class, const SurfacePlace& place,
                                    Seconds time) const;

 private:
  struct Served {
    SurfaceFile file;
    bool relative = false;
  };
  std::map<std::pair<std::string, std::string>, Served> files_;  // by family and framework
};

}  // namespace orrery
