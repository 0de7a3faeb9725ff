#include "orrery/kernel/fit/grid_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace orrery {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;

}  // namespace

GridFit::GridFit(SurfaceAxes axes, std::vector<AxisSmoothness> smoothness,
                 EquivalentAxes equivalent_axes, double ridge, Steps steps)
    : axes_(std::move(axes)),
      ridge_(ridge),
      has_steps_(steps.second_difference > 0 || steps.mixed_difference > 0) {
  const std::size_t size = axes_.size();
  std::size_t stride = size;
  for (std::size_t a = 0; a < axes_.nodes.size(); ++a) {
    const std::vector<double>& nodes = axes_.nodes[a];
    stride /= nodes.size();
    const auto gap = [&](std::size_t k) { return std::max(nodes[k + 1] - nodes[k], kLeastGap); };
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t k = i / stride % nodes.size();
      if (k + 1 >= nodes.size()) continue;
      squares_.push_back(
          {{{{i, -1.0}, {i + stride, 1.0}}}, smoothness[a].first_difference / gap(k), 0});
      if (k == 0) continue;
      const double left = gap(k - 1), right = gap(k);
      squares_.push_back(
          {{{{i - stride, right / (left + right)}, {i, -1.0}, {i + stride, left / (left + right)}}},
           smoothness[a].second_difference,
           steps.second_difference});
    }
  }
  std::vector<std::size_t> strides(axes_.nodes.size());
  stride = size;
  for (std::size_t a = 0; a < strides.size(); ++a) strides[a] = stride /= axes_.nodes[a].size();
  for (std::size_t a = 0; a < strides.size(); ++a) {
    for (std::size_t b = a + 1; b < strides.size(); ++b) {
      const double weight =
          std::sqrt(smoothness[a].mixed_difference * smoothness[b].mixed_difference);
      if (weight == 0) continue;
      for (std::size_t i = 0; i < size; ++i) {
        if (i / strides[a] % axes_.nodes[a].size() + 1 >= axes_.nodes[a].size() ||
            i / strides[b] % axes_.nodes[b].size() + 1 >= axes_.nodes[b].size())
          continue;
        squares_.push_back({{{{i, 1.0},
                              {i + strides[a], -1.0},
                              {i + strides[b], -1.0},
                              {i + strides[a] + strides[b], 1.0}}},
                            weight,
                            steps.mixed_difference});
      }
    }
  }
  if (equivalent_axes.weight > 0) {
    const std::vector<double>&first = axes_.nodes[equivalent_axes.first],
          &second = axes_.nodes[equivalent_axes.second];
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = i / strides[equivalent_axes.first] % first.size(),
                        from = i / strides[equivalent_axes.second] % second.size();
      if (at + 1 >= first.size()) continue;
      const double wanted = second[from] - (first[at + 1] - first[at]);
      for (std::size_t to = 0; to < from; ++to) {
        if (std::abs(second[to] - wanted) > 0.01) continue;
        squares_.push_back(
            {{{{i, 1.0},
               {i + strides[equivalent_axes.first] - (from - to) * strides[equivalent_axes.second],
                -1.0}}},
             equivalent_axes.weight,
             0});
      }
    }
  }
  penalty_ = penalty(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size)));
}

Eigen::SparseMatrix<double> GridFit::penalty(const Eigen::VectorXd& values) const {
  Triplets triplets;
  for (const Square& s : squares_) {
    double weight = s.weight;
    if (s.step > 0) {
      double sum = 0;
      for (const auto& [i, factor] : s.terms) sum += factor * values[static_cast<Eigen::Index>(i)];
      weight /= std::hypot(1, sum / s.step);
    }
    for (const auto& [a, va] : s.terms) {
      for (const auto& [b, vb] : s.terms) {
        if (va != 0 && vb != 0)
          triplets.emplace_back(static_cast<int>(a), static_cast<int>(b), weight * va * vb);
      }
    }
  }
  for (Eigen::Index i = 0; i < values.size(); ++i)
    triplets.emplace_back(static_cast<int>(i), static_cast<int>(i), ridge_ + 1e-9);
  Eigen::SparseMatrix<double> out(values.size(), values.size());
  out.setFromTriplets(triplets.begin(), triplets.end());
  return out;
}

Eigen::VectorXd GridFit::solve(std::span<const GridRow> rows, const Eigen::VectorXd& prior,
                               const Eigen::VectorXd& start) const {
  constexpr double kTolerance = 1e-4;
  constexpr int kMostSteps = 400;
  const auto n = static_cast<Eigen::Index>(axes_.size());
  const bool has_prior = prior.size() == n;
  const Eigen::SparseMatrix<double> stepped =
      has_steps_ ? penalty(has_prior ? Eigen::VectorXd(start - prior) : start)
                 : Eigen::SparseMatrix<double>();
  const Eigen::SparseMatrix<double>& smooth = has_steps_ ? stepped : penalty_;
  Eigen::VectorXd right = has_prior ? Eigen::VectorXd(smooth * prior) : Eigen::VectorXd::Zero(n);
  Triplets triplets;
  for (const GridRow& r : rows) {
    for (std::size_t a = 0; a < r.cell.count; ++a) {
      if (r.cell.weight[a] == 0) continue;
      const int ia = static_cast<int>(r.cell.index[a]);
      right[ia] += r.weight * r.cell.weight[a] * r.target;
      for (std::size_t b = 0; b < r.cell.count; ++b) {
        if (r.cell.weight[b] == 0) continue;
        triplets.emplace_back(ia, static_cast<int>(r.cell.index[b]),
                              r.weight * r.cell.weight[a] * r.cell.weight[b]);
      }
    }
  }
  Eigen::SparseMatrix<double> data(n, n);
  data.setFromTriplets(triplets.begin(), triplets.end());
  const Eigen::SparseMatrix<double> normal = smooth + data;
  Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> solver;
  solver.setTolerance(kTolerance);
  solver.setMaxIterations(kMostSteps);
  solver.compute(normal);
  return solver.solveWithGuess(right, start);
}

std::vector<bool> supported_nodes(const SurfaceAxes& axes, std::span<const GridRow> rows) {
  std::vector<bool> seen(axes.size());
  for (const GridRow& r : rows) {
    for (std::size_t c = 0; c < r.cell.count; ++c) {
      if (r.cell.weight[c] > 0) seen[r.cell.index[c]] = true;
    }
  }
  std::vector<int> neighbours(seen.size());
  std::size_t stride = axes.size();
  for (const auto& nodes : axes.nodes) {
    stride /= nodes.size();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::size_t k = i / stride % nodes.size();
      if (k > 0 && seen[i - stride]) ++neighbours[i];
      if (k + 1 < nodes.size() && seen[i + stride]) ++neighbours[i];
    }
  }
  std::vector<bool> out = seen;
  for (std::size_t i = 0; i < seen.size(); ++i) out[i] = seen[i] || neighbours[i] > 0;
  // Nodes between two such nodes are known, too.
  stride = axes.size();
  for (const auto& nodes : axes.nodes) {
    stride /= nodes.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!out[i]) continue;
      const std::size_t left = nodes.size() - 1 - i / stride % nodes.size();
      for (std::size_t d = left; d > 1; --d) {
        if (!out[i + d * stride]) continue;
        for (std::size_t between = 1; between < d; ++between) out[i + between * stride] = true;
        break;
      }
    }
  }
  return out;
}

void extend_constant(const SurfaceAxes& axes, std::vector<bool> supported,
                     std::vector<float>& values) {
  std::size_t stride = 1;
  for (std::size_t a = axes.nodes.size(); a-- > 0;) {
    const std::size_t n = axes.nodes[a].size();
    const std::vector<bool> before = supported;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (before[i]) continue;
      const std::size_t k = i / stride % n, line = i - k * stride;
      for (std::size_t d = 1; d < n && !supported[i]; ++d) {
        for (const bool below : {true, false}) {
          if (below ? d > k : k + d >= n) continue;
          const std::size_t from = line + (below ? k - d : k + d) * stride;
          if (!before[from]) continue;
          values[i] = values[from];
          supported[i] = true;
          break;
        }
      }
    }
    stride *= n;
  }
}

}  // namespace orrery
