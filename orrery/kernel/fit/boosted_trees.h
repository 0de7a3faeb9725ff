// Regression by small boosted trees: what a kernel's time does at edges that no single axis of a
// grid shows (operands that outgrow a cache, calls that no longer fill the GPU).
//
// Every round grows one tree on what the ones before leave, from a share of the rows; each split
// takes the feature and the threshold that lower the weighted squared error most. Which rows is a
// function of the round alone: the same result on every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery {

struct TreeSettings {
  int rounds = 1000;
  int depth = 5;
  double rate = 0.05;       // of each tree's values that is added
  double least_weight = 4;  // of the rows in a leaf
  double ridge = 1;         // weight of a row of 0 that each leaf has in addition
  double huber = 0.15;      // a row pulls no harder than from this far
  double share = 0.7;       // of the rows that a tree is grown on
};

class BoostedTrees {
 public:
  // features[f][row]; all of the same length as `target` and `weight`. No rows: 0 everywhere.
  BoostedTrees(const std::vector<std::vector<double>>& features, const std::vector<double>& target,
               const std::vector<double>& weight, const TreeSettings& settings = {});

  // For rows of the same features.
  std::vector<double> operator()(const std::vector<std::vector<double>>& features) const;

 private:
  struct Node {
    std::uint8_t feature = 0, bin = 0;  // left: bins up to this one
    bool leaf = true;
    std::size_t left = 0;  // of the tree's nodes; the right one follows it
    double value = 0;
  };
  using Tree = std::vector<Node>;

  std::vector<std::vector<std::uint8_t>> binned(
      const std::vector<std::vector<double>>& features) const;
  Tree grow(const std::vector<std::vector<std::uint8_t>>& bins, const std::vector<double>& pull,
            const std::vector<double>& weight, const TreeSettings& settings) const;
  // What a tree says of a row.
  static double value(const Tree& tree, const std::vector<std::vector<std::uint8_t>>& bins,
                      std::size_t row);

  std::vector<std::vector<double>> thresholds_;  // by feature, increasing
  std::vector<Tree> trees_;
};

}  // namespace orrery
