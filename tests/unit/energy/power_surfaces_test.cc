// Do readings correct the power of the calls near to them, and of no others?
#include "orrery/energy/power/power_surfaces.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/energy/power/power_model.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace power_surfaces_test {

// A surface of products in bf16 on two nodes of m, which adds `log` everywhere, was read from
// m = 1 to m = 1024 at n = k = 1, and errs by `own`.
SurfaceFile surface_of(double log, double own) {
  SurfaceFile file;
  file.axes.nodes = {{0, 10}, {0, 1}, {0, 1}};
  file.series_axes.nodes = {{-2, 0}, {-2, 0}, {2, 14}};
  Surface s;
  s.kernel_class = "bf16";
  s.own = own, s.regimes[1] = 3;
  s.values.assign(8, static_cast<float>(log));
  s.series.push_back({kUseSeries, std::vector<float>(8, 0)});
  s.measured_range.low = {0, 0, 0, 0}, s.measured_range.high = {10, 0, 0, 0};
  s.measured_range.most = 10;
  file.surfaces.push_back(s);
  return file;
}

std::optional<PowerSurfaces::Correction> at(const PowerSurfaces& surfaces, double m,
                                            Seconds time = milliseconds(1)) {
  return surfaces.reading("gemm", "vllm", "bf16",
                          power_place(SurfacePlace(m, 0, 0, 0), {0.5, 0.5}, time), time);
}

TEST(PowerSurfaces, CorrectWhatWasReadAndFadeBeyondIt) {
  PowerSurfaces surfaces;
  surfaces.add("gemm", "vllm", surface_of(0.2, 0.05));
  EXPECT_NEAR(at(surfaces, 5)->log, 0.2, 1e-6);
  EXPECT_EQ(at(surfaces, 5)->error, 0.05);
  // Half of the two doublings over which a correction falls to nothing.
  EXPECT_NEAR(at(surfaces, 11)->log, 0.1, 1e-6);
  EXPECT_EQ(at(surfaces, 12)->log, 0);
  EXPECT_EQ(at(surfaces, 30)->trusted, 0);
  EXPECT_FALSE(surfaces.reading("gemm", "trtllm", "bf16", {}, milliseconds(1)).has_value());
  EXPECT_FALSE(surfaces.reading("gemm", "vllm", "fp8", {}, milliseconds(1)).has_value());
  EXPECT_FALSE(surfaces.reading("moe", "vllm", "bf16", {}, milliseconds(1)).has_value());
  // Readings of short calls err more.
  EXPECT_NEAR(at(surfaces, 5, microseconds(20))->error, 0.15, 1e-12);
}

TEST(PowerSurfaces, AreBounded) {
  PowerSurfaces surfaces;
  surfaces.add("gemm", "vllm", surface_of(1.9, 0.05));
  EXPECT_EQ(at(surfaces, 5)->log, kMostCorrection);
}

// Three thousand repeats of 10 us are 0.03 s of the second that NVML averages.
TEST(PowerSurfaces, ShortReadingsAreMostlyOfWhatRanBefore) {
  EXPECT_EQ(own_share(microseconds(100)), 1);
  EXPECT_NEAR(own_share(microseconds(10)), 0.03, 1e-12);
  EXPECT_NEAR(own_share(microseconds(99)), 0.297, 1e-12);
}

TEST(PowerModel, CorrectsWithinTheBoard) {
  const KernelActivity a(
      1, 0.3,
      {{"", "", "", {0.1, 0.5, 0.25}, 0.2, 0}, {"gemm", "bf16", "", {0.1, 0.5, 0.25}, 0.2, 0}});
  Gpu gpu;
  gpu.id = "mine", gpu.power = Watts(1000);
  const PowerModel model(a, BoardPowers({{"mine", 0.2}}, 0.98).of(gpu), {});
  const KernelActivity::Entry& entry = a.entries().back();
  // 200 W awake, and 0.1 + 0.5 * 0.5 = 0.35 of the other 800 W.
  const Utilisation half{0.5, 0, 0};
  const Watts law = model.during(entry, half).value;
  EXPECT_NEAR(law.value(), 480, 1e-9);
  const PowerSurfaces::Correction more{std::log(1.1), 0.06, 1}, most{1, 0.06, 1},
      least{-1, 0.06, 1};
  EXPECT_NEAR(model.during(entry, half, more).value.value(), 528, 1e-9);
  EXPECT_NEAR(model.during(entry, half, more).own, 0.06, 1e-12);
  // A share of a half corrects by the square root, and the error lies half way.
  EXPECT_NEAR(model.during(entry, half, more, 0.5).value.value(), 480 * std::sqrt(1.1), 1e-9);
  EXPECT_NEAR(model.during(entry, half, more, 0.5).own, 0.13, 1e-12);
  EXPECT_EQ(model.during(entry, half, most).value, Watts(980));
  EXPECT_EQ(model.during(entry, half, least).value, Watts(200));
}

// Every surface of the catalog is of a class that its family has, and corrects within the bounds.
TEST(CatalogPowerSurfaces, BelongToClassesOfFamilies) {
  const Bundle bundle;
  std::size_t seen = 0;
  const Catalog catalog(bundle);
  for (const char* gpu : {"b200-sxm", "h200-sxm"}) {
    const PowerSurfaces surfaces(bundle, catalog, catalog.gpu(gpu));
    for (const KernelFamily* family : kernel_families()) {
      for (const KernelClass& c : family->classes()) {
        for (const char* framework : {"vllm", "trtllm"}) {
          for (const double size : {0.0, 8.0, 40.0}) {
            const auto found = surfaces.reading(
                family->name(), framework, c.sources.front().name,
                power_place(SurfacePlace(size, size, size, size), {0.3, 0.3}, milliseconds(1)),
                milliseconds(1));
            if (!found) continue;
            ++seen;
            EXPECT_LE(std::abs(found->log), kMostCorrection);
            EXPECT_GT(found->error, 0);
            if (size == 40) {
              EXPECT_EQ(found->log, 0) << family->name() << " " << c.sources.front().name;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(seen, 300u);
}

// An H100 runs the kernels of an H200, a GB200 those of a B200. An A100 and other vendors' GPUs are
// farther from both than these are from each other.
TEST(CatalogPowerSurfaces, ServeNearRelatives) {
  const Bundle bundle;
  const Catalog catalog(bundle);
  const auto bf16 = [&](const char* gpu) {
    return PowerSurfaces(bundle, catalog, catalog.gpu(gpu))
        .reading("gemm", "vllm", "bf16",
                 power_place(SurfacePlace(12, 12, 12, 0), {0.6, 0.2}, milliseconds(1)),
                 milliseconds(1));
  };
  EXPECT_EQ(bf16("h100-sxm")->log, bf16("h200-sxm")->log);
  EXPECT_EQ(bf16("gb200")->log, bf16("b200-sxm")->log);
  // The error of another GPU's surface is not known, and the law's stays.
  EXPECT_EQ(bf16("h100-sxm")->trusted, 0);
  EXPECT_EQ(bf16("h200-sxm")->trusted, 1);
  EXPECT_FALSE(bf16("a100-80g-sxm").has_value());
  EXPECT_FALSE(bf16("mi300x").has_value());
}

}  // namespace power_surfaces_test
}  // namespace orrery
