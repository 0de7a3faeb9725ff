// Regression by small boosted trees. They follow a kernel's time across edges that no single axis
// of a grid shows: operands that outgrow a cache, calls that no longer fill the GPU.
//
// Every round grows one tree on the residuals of the trees before it, from a share of the rows.
// Each split takes the feature and the threshold that lower the weighted squared error most. The
// rows of a round depend on the number of the round alone, so that every run gives the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery {

struct TreeSettings {
  int rounds = 1000;
  int depth = 5;
  double rate = 0.05;       // share of each tree's values that is added (learning rate)
  double least_weight = 4;  // smallest weight of the rows in a leaf
  double ridge = 1;         // weight of an additional row of value 0 in each leaf
  double huber = 0.15;      // error above which a row pulls no harder
  double share = 0.7;       // share of the rows that a tree is grown on
};

class BoostedTrees {
 public:
  // `features[f]` has the values of feature f, one for each row, as `target` and `weight` have.
  // Without rows the prediction is 0 everywhere.
  BoostedTrees(const std::vector<std::vector<double>>& features, const std::vector<double>& target,
               const std::vector<double>& weight, const TreeSettings& settings = {});

  // Predictions for rows of the same features.
  std::vector<double> operator()(const std::vector<std::vector<double>>& features) const;

 private:
  struct Node {
    std::uint8_t feature = 0, bin = 0;  // left: bins up to this one
    bool leaf = true;
    std::size_t left = 0;  // index of the left child; the right child follows it
    double value = 0;
  };
  using Tree = std::vector<Node>;

  std::vector<std::vector<std::uint8_t>> binned(
      const std::vector<std::vector<double>>& features) const;
  Tree grow(const std::vector<std::vector<std::uint8_t>>& bins, const std::vector<double>& pull,
            const std::vector<double>& weight, const TreeSettings& settings) const;
  // The value that a tree predicts for a row.
  static double value(const Tree& tree, const std::vector<std::vector<std::uint8_t>>& bins,
                      std::size_t row);

  std::vector<std::vector<double>> thresholds_;  // of each feature, increasing
  std::vector<Tree> trees_;
};

}  // namespace orrery
