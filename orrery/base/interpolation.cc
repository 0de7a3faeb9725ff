#include "orrery/base/interpolation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace orrery {

TensorGrid::TensorGrid(std::vector<std::vector<double>> axes, std::vector<double> values,
                       Beyond beyond)
    : axes_(std::move(axes)), values_(std::move(values)), beyond_(beyond) {
  if (axes_.empty() || axes_.size() > kMaxAxes) throw std::invalid_argument("grid: 1 to 4 axes");
  auto finite = [](double v) { return std::isfinite(v); };
  std::size_t size = 1;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::vector<double>& nodes = axes_[a];
    const auto not_increasing =
        std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal());
    if (nodes.empty() || not_increasing != nodes.end() ||
        !std::all_of(nodes.begin(), nodes.end(), finite)) {
      throw std::invalid_argument("grid: the nodes of an axis must be finite and increasing");
    }
    strides_[a] = size;
    size *= nodes.size();
  }
  if (values_.size() != size || !std::all_of(values_.begin(), values_.end(), finite)) {
    throw std::invalid_argument("grid: one finite value a node");
  }
}

double TensorGrid::evaluate(std::span<const double> x) const {
  if (x.size() != axes_.size()) throw std::invalid_argument("grid: one coordinate an axis");
  // The corners of the cell around x, each axis halving what is left: offsets into values_ and
  // weights.
  std::array<std::size_t, 1 << kMaxAxes> offset{0};
  std::array<double, 1 << kMaxAxes> weight{1};
  std::size_t corners = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const std::vector<double>& nodes = axes_[a];
    if (nodes.size() == 1) continue;
    const auto above = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, x[a]);
    const auto i = static_cast<std::size_t>(above - nodes.begin()) - 1;
    double t = (x[a] - nodes[i]) / (nodes[i + 1] - nodes[i]);
    if (beyond_ == Beyond::kClamped) t = std::clamp(t, 0.0, 1.0);
    for (std::size_t c = 0; c < corners; ++c) {
      offset[c] += i * strides_[a];
      offset[corners + c] = offset[c] + strides_[a];
      weight[corners + c] = weight[c] * t;
      weight[c] *= 1 - t;
    }
    corners *= 2;
  }
  double sum = 0;
  for (std::size_t c = 0; c < corners; ++c) sum += weight[c] * values_[offset[c]];
  return sum;
}

}  // namespace orrery
