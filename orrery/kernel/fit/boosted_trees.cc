#include "orrery/kernel/fit/boosted_trees.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "orrery/base/fit.h"
#include "orrery/base/random.h"

namespace orrery {
namespace {

constexpr std::size_t kMostBins = 64;
constexpr double kSame = 1e-6;  // values of a feature closer than this are one

// Thresholds lie between the values of a feature, or at quantiles if there are many values.
std::vector<double> thresholds_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> distinct;
  for (double v : values) {
    if (distinct.empty() || v - distinct.back() > kSame) distinct.push_back(v);
  }
  std::vector<double> out;
  const std::size_t bins = std::min(distinct.size(), kMostBins);
  for (std::size_t b = 1; b < bins; ++b) {
    const std::size_t at = b * distinct.size() / bins;
    out.push_back((distinct[at - 1] + distinct[at]) / 2);
  }
  return out;
}

struct Sums {
  double pull = 0, weight = 0;
};

}  // namespace

BoostedTrees::BoostedTrees(const std::vector<std::vector<double>>& features,
                           const std::vector<double>& target, const std::vector<double>& weight,
                           const TreeSettings& settings) {
  for (const std::vector<double>& f : features) thresholds_.push_back(thresholds_of(f));
  const std::vector<std::vector<std::uint8_t>> bins = binned(features);
  std::vector<double> fitted(target.size()), pull(target.size()), drawn(target.size());
  RandomStream draw(0, "boosted trees");
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < pull.size(); ++i) {
      drawn[i] = draw.uniform() < settings.share ? weight[i] : 0;
      pull[i] = drawn[i] * huber_pull(target[i] - fitted[i], settings.huber);
    }
    trees_.push_back(grow(bins, pull, drawn, settings));
    for (std::size_t i = 0; i < fitted.size(); ++i) fitted[i] += value(trees_.back(), bins, i);
  }
}

std::vector<std::vector<std::uint8_t>> BoostedTrees::binned(
    const std::vector<std::vector<double>>& features) const {
  std::vector<std::vector<std::uint8_t>> out(features.size());
  for (std::size_t f = 0; f < features.size(); ++f) {
    const std::vector<double>& t = thresholds_[f];
    out[f].reserve(features[f].size());
    for (double v : features[f])
      out[f].push_back(
          static_cast<std::uint8_t>(std::lower_bound(t.begin(), t.end(), v) - t.begin()));
  }
  return out;
}

BoostedTrees::Tree BoostedTrees::grow(const std::vector<std::vector<std::uint8_t>>& bins,
                                      const std::vector<double>& pull,
                                      const std::vector<double>& weight,
                                      const TreeSettings& settings) const {
  struct Part {  // of `order`, the rows of one node
    std::size_t node, begin, end;
  };
  Tree tree(1);
  std::vector<std::uint32_t> order;  // of the rows that it is grown on
  for (std::size_t i = 0; i < pull.size(); ++i) {
    if (weight[i] > 0) order.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<Sums> rows(order.size());  // in that order
  std::vector<Part> level = {{0, 0, order.size()}}, next;
  for (int depth = 0; !level.empty(); ++depth, level.swap(next)) {
    next.clear();
    for (const Part& part : level) {
      Sums all;
      for (std::size_t i = part.begin; i < part.end; ++i) {
        rows[i] = {pull[order[i]], weight[order[i]]};
        all.pull += rows[i].pull;
        all.weight += rows[i].weight;
      }
      const auto gain = [&](const Sums& s) {
        return s.pull * s.pull / (s.weight + settings.ridge);
      };
      Node best;
      double most = gain(all) + 1e-9;
      for (std::size_t f = 0; f < bins.size() && depth < settings.depth; ++f) {
        std::array<Sums, kMostBins> by_bin{};
        for (std::size_t i = part.begin; i < part.end; ++i) {
          Sums& s = by_bin[bins[f][order[i]]];
          s.pull += rows[i].pull;
          s.weight += rows[i].weight;
        }
        Sums left;
        for (std::size_t b = 0; b < thresholds_[f].size(); ++b) {
          left.pull += by_bin[b].pull;
          left.weight += by_bin[b].weight;
          const Sums right{all.pull - left.pull, all.weight - left.weight};
          if (left.weight < settings.least_weight || right.weight < settings.least_weight) continue;
          if (const double g = gain(left) + gain(right); g > most) {
            most = g;
            best.feature = static_cast<std::uint8_t>(f);
            best.bin = static_cast<std::uint8_t>(b);
            best.leaf = false;
          }
        }
      }
      if (best.leaf) {
        best.value = settings.rate * all.pull / (all.weight + settings.ridge);
      } else {
        const auto middle = std::stable_partition(
            order.begin() + static_cast<std::ptrdiff_t>(part.begin),
            order.begin() + static_cast<std::ptrdiff_t>(part.end),
            [&](std::uint32_t i) { return bins[best.feature][i] <= best.bin; });
        const auto cut = static_cast<std::size_t>(middle - order.begin());
        best.left = tree.size();
        tree.resize(tree.size() + 2);
        next.push_back({best.left, part.begin, cut});
        next.push_back({best.left + 1, cut, part.end});
      }
      tree[part.node] = best;
    }
  }
  return tree;
}

double BoostedTrees::value(const Tree& tree, const std::vector<std::vector<std::uint8_t>>& bins,
                           std::size_t row) {
  const Node* n = &tree.front();
  while (!n->leaf) n = &tree[n->left + (bins[n->feature][row] <= n->bin ? 0u : 1u)];
  return n->value;
}

std::vector<double> BoostedTrees::operator()(
    const std::vector<std::vector<double>>& features) const {
  const std::vector<std::vector<std::uint8_t>> bins = binned(features);
  std::vector<double> out(features.empty() ? 0 : features.front().size());
  for (const Tree& tree : trees_) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += value(tree, bins, i);
  }
  return out;
}

}  // namespace orrery
