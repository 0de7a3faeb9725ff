#include "orrery/kernel/fit/point_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace point_choice_test {

std::vector<CalibrationPlace> line(int count, double step) {
  std::vector<CalibrationPlace> places;
  for (int i = 0; i < count; ++i) places.push_back({{step * i}, {}});
  return places;
}

// Largest distance of a candidate from the nearest chosen one.
double widest_gap(const std::vector<CalibrationPlace>& candidates,
                  const std::vector<std::size_t>& chosen) {
  double widest = 0;
  for (const CalibrationPlace& c : candidates) {
    double nearest = 1e9;
    for (const std::size_t i : chosen)
      nearest = std::min(nearest, std::abs(candidates[i].at[0] - c.at[0]));
    widest = std::max(widest, nearest);
  }
  return widest;
}

TEST(PointChoice, TheFirstPointIsInTheMiddleAndAllCoverTheRange) {
  const auto candidates = line(41, 0.5);  // twenty octaves
  EXPECT_EQ(choose_points(candidates, 1, 1), std::vector<std::size_t>{20});
  // Five points, four octaves for each: none is further than four octaves from all of them.
  EXPECT_LE(widest_gap(candidates, choose_points(candidates, 5, 1)), 4);
}

TEST(PointChoice, PointsAreDistinctAndFewCandidatesAreAllTaken) {
  auto chosen = choose_points(line(9, 0.01), 8, 1);
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end());
  EXPECT_EQ(chosen.size(), 8u);
  EXPECT_EQ(choose_points(line(3, 1), 8, 1), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(PointChoice, DenseRegionsMatterMore) {
  auto candidates = line(40, 0.05);  // two octaves with many calls
  candidates.push_back({{30}, {}});  // and a single one far away
  const auto chosen = choose_points(candidates, 2, 1);
  EXPECT_LT(chosen[0], 40u);
  EXPECT_NE(chosen[0], 40u);
}

TEST(PointChoice, SizesThatARelatedClassHasMeasuredAreLeftToIt) {
  const auto candidates = line(41, 0.5);
  const std::vector<std::vector<CalibrationPlace>> related = {
      {{{0}, {}}, {{2.5}, {}}, {{5}, {}}, {{7.5}, {}}}};
  for (const std::size_t i : choose_points(candidates, 3, 1, related))
    EXPECT_GT(candidates[i].at[0], 8) << "the related class has points up to 7.5";
}

}  // namespace point_choice_test
}  // namespace orrery
