#include "orrery/kernel/fit/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace boosted_trees_test {

// Rows on a 12 x 12 grid; time jumps by 0.5 where the product of both sizes passes 2^11.
struct Grid {
  std::vector<std::vector<double>> features = std::vector<std::vector<double>>(3);
  std::vector<double> target, weight;
  void add(double a, double b) {
    features[0].push_back(a);
    features[1].push_back(b);
    features[2].push_back(a + b);
    target.push_back(truth(a, b));
    weight.push_back(1);
  }
  static double truth(double a, double b) { return (a + b > 11 ? 0.5 : 0) + 0.02 * a; }
};

TEST(BoostedTrees, FindTheEdgeOfAProductAtPlacesTheyHaveNotSeen) {
  Grid rows, unseen;
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) ((a * 5 + b * 3) % 7 == 0 ? unseen : rows).add(a, b);
  }
  const BoostedTrees trees(rows.features, rows.target, rows.weight);
  const std::vector<double> seen = trees(unseen.features);
  ASSERT_GT(seen.size(), 15u);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], unseen.target[i], 0.06) << i;
}

TEST(BoostedTrees, AFewRowsFarOffDoNotMoveTheOthers) {
  Grid rows;
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) rows.add(a, b);
  }
  rows.target[30] += 10;
  TreeSettings settings;
  settings.huber = 0.1;
  const std::vector<double> seen =
      BoostedTrees(rows.features, rows.target, rows.weight, settings)(rows.features);
  double worst = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (i != 30) worst = std::max(worst, std::abs(seen[i] - rows.target[i]));
  }
  EXPECT_LT(worst, 0.5);
}

TEST(BoostedTrees, WithoutRowsAreZero) {
  const BoostedTrees trees({{}, {}}, {}, {});
  EXPECT_EQ(trees({{1, 2}, {3, 4}}), (std::vector<double>{0, 0}));
}

}  // namespace boosted_trees_test
}  // namespace orrery
