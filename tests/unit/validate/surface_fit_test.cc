// Do the corrections of kernel power follow the readings that a fit may see, and no others?
#include "orrery/validate/energy/surface_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace orrery {
namespace surface_fit_test {

// Products with m from 1 to 2^14 that read `factor(m)` times what the law says: 20 % of 1000 W
// awake, and 0.1 + 0.5 * 0.5 of the other 800 W.
template <typename Factor>
std::vector<KernelPowerRow> products(Factor factor) {
  std::vector<KernelPowerRow> rows;
  for (int i = 0; i < 140; ++i) {
    KernelPowerRow r;
    Gemm g;
    g.m = g.n = g.k = 1024;
    r.op = g;
    r.family = &gemm_family();
    r.kernel_class = "bf16", r.gpu = "mine", r.framework = "vllm";
    r.time = milliseconds(1);
    r.used = {0.5, 0, 0};
    r.sizes = {i / 10.0, 10, 10, 0};
    r.limit = Watts(1000);
    r.power = Watts(480 * factor(i / 10.0));
    rows.push_back(r);
  }
  return rows;
}

KernelActivity law() { return KernelActivity(1, 0.3, {{"", "", "", {0.1, 0.5, 0.25}, 0.2, 0}}); }
BoardPowers boards() { return BoardPowers({{"mine", 0.2}}, 0.98); }

double log_at(const FittedSurfaces& fit, const KernelPowerRow& row) {
  PowerSurfaces surfaces;
  surfaces.add("gemm", "vllm", fit.files.begin()->second);
  return correction_of(surfaces, row)->log;
}

TEST(SurfaceFit, FollowsASmoothDeviationFromTheLaw) {
  const auto rows = products([](double m) { return 1 + 0.02 * m; });
  const FittedSurfaces fit = fit_power_surfaces(rows, law(), boards(), "test");
  ASSERT_EQ(fit.files.size(), 1u);
  EXPECT_EQ(fit.files.begin()->first, "power/surfaces/gemm/vllm-mine.txt.gz");
  for (const KernelPowerRow& r : rows)
    EXPECT_NEAR(log_at(fit, r), std::log(r.power.value() / 480), 0.03) << r.sizes[0];
}

// Where the law is right, it stays.
TEST(SurfaceFit, LeavesARightLawAlone) {
  const auto rows = products([](double) { return 1; });
  const FittedSurfaces fit = fit_power_surfaces(rows, law(), boards(), "test");
  for (const KernelPowerRow& r : rows) EXPECT_NEAR(log_at(fit, r), 0, 0.006);
}

// Left-out readings change no value, and tell the error.
TEST(SurfaceFit, LeftOutReadingsTellTheErrorAlone) {
  auto rows = products([](double) { return 1.2; });
  const FittedSurfaces without = fit_power_surfaces(rows, law(), boards(), "test");
  auto others = rows;
  for (KernelPowerRow& r : others) r.left_out = true, r.power = Watts(240);
  rows.insert(rows.end(), others.begin(), others.begin() + 20);
  const FittedSurfaces with = fit_power_surfaces(rows, law(), boards(), "test");
  EXPECT_EQ(log_at(with, rows[5]), log_at(without, rows[5]));
  // log(1.2 * 480 / 240) off each.
  const double own = with.files.begin()->second.surfaces.front().own;
  EXPECT_NEAR(own, 1.25 * std::log(2.4), 0.05);
}

TEST(SurfaceFit, FewCallsMakeNoSurface) {
  auto rows = products([](double) { return 1.2; });
  rows.resize(15);
  EXPECT_TRUE(fit_power_surfaces(rows, law(), boards(), "test").files.empty());
}

}  // namespace surface_fit_test
}  // namespace orrery
