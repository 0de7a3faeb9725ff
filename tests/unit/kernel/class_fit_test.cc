#include "orrery/kernel/fit/class_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/random.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace class_fit_test {

// A kernel that is changed where sequences times keys cross a line, and takes half as long
// again beyond it.
double truth(const SurfacePlace& p) { return p.x[2] + p.x[3] > 15 ? 0.8 : 0.4; }

std::vector<MeasuredPoint> points(int count, RandomStream& random, double noise) {
  const std::vector<std::vector<double>> axes = decode_attention_family().axes();
  std::vector<MeasuredPoint> out;
  while (static_cast<int>(out.size()) < count) {
    MeasuredPoint p{};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      // Few heads, as one model's: about a thousand places.
      const double of = a < 2 ? 2 + static_cast<double>(a) : static_cast<double>(axes[a].size());
      const auto node = static_cast<std::size_t>(random.uniform() * of);
      p.x[a] = axes[a][node];
    }
    p.base = 1e-8 * std::exp2(p.x[2] + p.x[3]);
    p.time = 5e-6 + p.base * std::exp(truth(p) + noise * random.normal());
    out.push_back(p);
  }
  return out;
}

double mean_error(const Surface& s, const std::vector<MeasuredPoint>& judges) {
  const SurfaceAxes axes{decode_attention_family().axes()};
  double sum = 0;
  for (const MeasuredPoint& p : judges) {
    const double time = s.floor.value() + p.base * std::exp(s.at(cell_at(axes, p.x)));
    sum += std::abs(time / p.time - 1);
  }
  return sum / static_cast<double>(judges.size());
}

TEST(ClassFitter, SistersTellWhereKernelsChange) {
  RandomStream random(5, "class fit");
  const std::vector<MeasuredPoint> own = points(150, random, 0.03),
                                   sister = points(800, random, 0.03),
                                   judges = points(500, random, 0);
  const std::vector<const std::vector<MeasuredPoint>*> sisters = {&sister};
  const double alone =
      mean_error(ClassFitter(decode_attention_family()).fit("bf16_128", own, nullptr, {}), judges);
  const double together = mean_error(
      ClassFitter(decode_attention_family()).fit("bf16_128", own, nullptr, sisters), judges);
  EXPECT_LT(together, 0.7 * alone);
  EXPECT_LT(together, 0.06) << alone;
}

TEST(ClassFitter, ASisterOfAnotherSpeedDoesNotMoveTheLevel) {
  RandomStream random(6, "class fit");
  const std::vector<MeasuredPoint> own = points(400, random, 0.01), judges = points(300, random, 0);
  std::vector<MeasuredPoint> sister = points(400, random, 0.01);
  for (MeasuredPoint& p : sister) p.time *= 1.5;
  const std::vector<const std::vector<MeasuredPoint>*> sisters = {&sister};
  const Surface s = ClassFitter(decode_attention_family()).fit("bf16_128", own, nullptr, sisters);
  EXPECT_LT(mean_error(s, judges), 0.05);
}

TEST(ClassFitter, PointsLeftOutDoNotCount) {
  RandomStream random(7, "class fit");
  std::vector<MeasuredPoint> own = points(400, random, 0.01);
  const Surface clean = fit_surface("bf16_128", decode_attention_family(), own, Seconds(2e-5));
  std::vector<MeasuredPoint> with = own;
  for (MeasuredPoint p : points(100, random, 0.01)) {
    p.time *= 7;
    p.left_out = true;
    with.push_back(p);
  }
  const Surface same = fit_surface("bf16_128", decode_attention_family(), with, Seconds(2e-5));
  EXPECT_EQ(clean.values, same.values);
}

}  // namespace class_fit_test
}  // namespace orrery
