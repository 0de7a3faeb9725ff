#include "orrery/kernel/surface/surface.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "orrery/base/quick_math.h"

namespace orrery {

std::size_t SurfaceAxes::size() const {
  std::size_t n = 1;
  for (const auto& axis : nodes) n *= axis.size();
  return n;
}

SurfaceCell cell_at(const SurfaceAxes& axes, std::span<const double> x) {
  SurfaceCell cell;
  cell.count = 1;
  cell.index[0] = 0;
  cell.weight[0] = 1;
  for (std::size_t a = 0; a < axes.nodes.size(); ++a) {
    const std::vector<double>& nodes = axes.nodes[a];
    std::size_t low = 0;
    double fraction = 0;
    if (nodes.size() > 1) {
      // The last node at or below x, without branches on x.
      for (std::size_t span = nodes.size() - 1; span > 1; span -= span / 2)
        low += x[a] >= nodes[low + span / 2] ? span / 2 : 0;
      fraction = std::clamp((x[a] - nodes[low]) / (nodes[low + 1] - nodes[low]), 0.0, 1.0);
    }
    for (std::size_t i = 0; i < cell.count; ++i) cell.index[i] = cell.index[i] * nodes.size() + low;
    if (nodes.size() > 1) {
      for (std::size_t i = 0; i < cell.count; ++i) {
        cell.index[cell.count + i] = cell.index[i] + 1;
        cell.weight[cell.count + i] = cell.weight[i] * fraction;
        cell.weight[i] *= 1 - fraction;
      }
      cell.count *= 2;
    }
  }
  return cell;
}

namespace {
double value_at(const std::vector<float>& values, const SurfaceCell& cell) {
  double v = 0;
  for (std::size_t i = 0; i < cell.count; ++i)
    v += cell.weight[i] * static_cast<double>(values[cell.index[i]]);
  return v;
}
}  // namespace

const SurfaceSeries* Surface::find_series(std::uint64_t key) const {
  const auto found =
      std::lower_bound(series.begin(), series.end(), key,
                       [](const SurfaceSeries& s, std::uint64_t wanted) { return s.key < wanted; });
  return found != series.end() && found->key == key ? &*found : nullptr;
}

double Surface::at(const SurfaceCell& cell) const { return value_at(values, cell); }

const Surface* SurfaceFile::find(std::string_view kernel_class) const {
  for (const Surface& s : surfaces) {
    if (s.kernel_class == kernel_class) return &s;
  }
  return nullptr;
}

double SurfaceFile::at(const Surface& surface, const SurfacePlace& place) const {
  double v = surface.at(cell_at(axes, place.x));
  const SurfaceSeries* found = surface.find_series(place.series);
  return found ? v + value_at(found->values, cell_at(series_axes, place.along)) : v;
}

SurfaceLookup::SurfaceLookup(const std::vector<std::vector<double>>& axes,
                             const std::vector<std::vector<double>>& series_axes)
    : axes_(prepared(axes)), series_axes_(prepared(series_axes)) {
  for (const Axis& axis : axes_) crowded_ = crowded_ || axis.more_steps > 0;
}

std::vector<SurfaceLookup::Axis> SurfaceLookup::prepared(
    const std::vector<std::vector<double>>& axes) {
  std::vector<Axis> out;
  std::size_t stride = SurfaceAxes{axes}.size();
  for (const std::vector<double>& nodes : axes) out.emplace_back(nodes, stride /= nodes.size());
  return out;
}

SurfaceLookup::Axis::Axis(const std::vector<double>& of, std::size_t its_stride)
    : first(of.front()),
      last(of.back()),
      buckets_per_unit(kBuckets / (of.back() - of.front())),
      stride(its_stride) {
  const std::size_t end = of.size() - 1;  // the last cell begins before it
  std::array<std::size_t, kBuckets + 1> in_bucket{};
  for (std::size_t i = 0; i < end; ++i) {
    nodes[i] = {of[i], 1 / (of[i + 1] - of[i])};
    if (i > 0) ++in_bucket[static_cast<std::size_t>((of[i] - first) * buckets_per_unit)];
  }
  for (std::size_t i = end; i < nodes.size(); ++i)
    nodes[i].x = std::numeric_limits<double>::infinity();  // ends every search
  std::size_t below = 0;  // nodes after the first in the buckets before
  for (std::size_t b = 0; b <= kBuckets; ++b) {
    begin[b] = static_cast<std::uint8_t>(below);
    below += in_bucket[b];
    if (in_bucket[b] > 2) more_steps = std::max(more_steps, in_bucket[b] - 2);
  }
}

namespace {

// Values of two neighbours on the last axis, between those on the other axes.
template <std::size_t kOthers>
inline Two between(const float* values, const std::size_t* stride, const double* fraction) {
  if constexpr (kOthers == 0) {
#ifdef __SSE2__  // g++ 12 converts one by one
    double both;
    std::memcpy(&both, values, sizeof(both));
    return _mm_cvtps_pd(_mm_castpd_ps(_mm_set_sd(both)));
#else
    return Two{values[0], values[1]};
#endif
  } else {
    const Two low = between<kOthers - 1>(values, stride + 1, fraction + 1);
    const Two high = between<kOthers - 1>(values + *stride, stride + 1, fraction + 1);
    return low + *fraction * (high - low);
  }
}

}  // namespace

template <bool kCrowded, std::size_t kAxes>
inline double SurfaceLookup::interpolated(const Axis* axes, const float* values, const double* x) {
  std::size_t strides[kAxes];
  double fractions[kAxes];
#pragma GCC unroll 4
  for (std::size_t a = 0; a < kAxes; ++a) {
    const Axis& axis = axes[a];
    const auto bucket = static_cast<std::int64_t>((x[a] - axis.first) * axis.buckets_per_unit);
    std::size_t low = axis.begin[static_cast<std::size_t>(
        std::clamp(bucket, std::int64_t{0}, static_cast<std::int64_t>(Axis::kBuckets)))];
    const Node* node = &axis.nodes[low];
    low += std::size_t{x[a] >= node[1].x} + std::size_t{x[a] >= node[2].x};
    if constexpr (kCrowded) {
      for (std::size_t step = 0; step < axis.more_steps; ++step)
        low += x[a] >= axis.nodes[low + 1].x;
    }
    node = &axis.nodes[low];
    // Beside the search, not before it: what follows waits for less.
    const double within = std::min(std::max(axis.first, x[a]), axis.last);
    fractions[a] = (within - node->x) * node->per_unit;
    strides[a] = axis.stride;
    values += low * axis.stride;
  }
  const Two pair = between<kAxes - 1>(values, strides, fractions);
  return pair[0] + fractions[kAxes - 1] * (pair[1] - pair[0]);
}

template <bool kCrowded>
inline double SurfaceLookup::value_at(const std::vector<Axis>& axes, const float* values,
                                      const double* x) {
  switch (axes.size()) {
    case 1:
      return interpolated<kCrowded, 1>(axes.data(), values, x);
    case 2:
      return interpolated<kCrowded, 2>(axes.data(), values, x);
    case 3:
      return interpolated<kCrowded, 3>(axes.data(), values, x);
    default:
      return interpolated<kCrowded, 4>(axes.data(), values, x);
  }
}

double SurfaceLookup::at(const Surface& surface, const SurfacePlace& place) const {
  if (crowded_) return crowded_at(surface, place);
  const double v = value_at<false>(axes_, surface.values.data(), place.x.data());
  return place.series == 0 ? v : v + series_at(surface, place);
}

double SurfaceLookup::crowded_at(const Surface& surface, const SurfacePlace& place) const {
  const double v = value_at<true>(axes_, surface.values.data(), place.x.data());
  return place.series == 0 ? v : v + series_at(surface, place);
}

double SurfaceLookup::series_at(const Surface& surface, const SurfacePlace& place) const {
  const SurfaceSeries* series = surface.find_series(place.series);
  return series ? value_at<true>(series_axes_, series->values.data(), place.along.data()) : 0;
}

}  // namespace orrery
