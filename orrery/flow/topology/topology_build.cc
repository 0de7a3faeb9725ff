#include "orrery/flow/topology/topology_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orrery/base/error.h"

namespace orrery {
namespace {

struct PlacedDimension {
  DimensionPlan plan;
  int stride = 1;
  LinkId base = 0;
};

// Number of links of a GPU in a dimension: up and down in a ring or line, one to each other
// coordinate in a mesh, one into the switch and one out of it.
int links_out(const DimensionPlan& d) {
  switch (d.wiring) {
    case Wiring::kRing:
    case Wiring::kLine:
      return 2;
    case Wiring::kMesh:
      return d.size - 1;
    case Wiring::kSwitch:
      return 2;
  }
  return 0;
}

void append_dimension_path(const PlacedDimension& d, int at, int coordinate, int target,
                           std::vector<LinkId>& path) {
  const int n = d.plan.size;
  const auto link = [&](int gpu, int k) { return d.base + gpu * links_out(d.plan) + k; };
  switch (d.plan.wiring) {
    case Wiring::kRing:
    case Wiring::kLine: {
      int up = target - coordinate;
      bool forward = up > 0;
      if (d.plan.wiring == Wiring::kRing) {
        up = (up + n) % n;
        forward = 2 * up < n || (2 * up == n && coordinate % 2 == 0) || n == 2;
      }
      while (coordinate != target) {
        path.push_back(link(at, forward ? 0 : 1));
        const int next = forward ? (coordinate + 1) % n : (coordinate + n - 1) % n;
        at += (next - coordinate) * d.stride;
        coordinate = next;
      }
      return;
    }
    case Wiring::kMesh:
      path.push_back(link(at, (target - coordinate + n) % n - 1));
      return;
    case Wiring::kSwitch:
      path.push_back(link(at, 0));
      path.push_back(link(at + (target - coordinate) * d.stride, 1));
      return;
  }
}

}  // namespace

Topology dimensions_topology(const std::vector<DimensionPlan>& plans, std::string name) {
  if (plans.empty()) throw InputError("a topology needs at least one dimension");
  std::int64_t gpus = 1;
  for (const DimensionPlan& p : plans) {
    if (p.size < 1) throw InputError(fmt::format("a dimension of {} GPUs: at least 1", p.size));
    gpus *= p.size;
    if (gpus > kMostGpus) throw InputError(fmt::format("more than {} GPUs", kMostGpus));
  }
  const int n = static_cast<int>(gpus);
  std::vector<PlacedDimension> dims;
  std::vector<Link> links;
  std::vector<std::string> names;
  int stride = 1;
  std::size_t planned = 0;
  for (const DimensionPlan& p : plans) {
    if (p.size > 1) planned += static_cast<std::size_t>(n) * static_cast<std::size_t>(links_out(p));
  }
  if (planned > Topology::kMostLinks) {
    throw InputError(fmt::format("{} links, more than {}", planned, Topology::kMostLinks));
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const DimensionPlan& p = plans[i];
    const int size = p.size;
    dims.push_back({p, stride, static_cast<LinkId>(links.size())});
    const auto switches = static_cast<VertexId>(n + static_cast<int>(names.size()));
    if (size > 1) {
      for (int g = 0; g < n; ++g) {
        const int c = g / stride % size;
        const auto to = [&](int other) { return g + (other - c) * stride; };
        switch (p.wiring) {
          case Wiring::kRing:
            links.push_back({g, to((c + 1) % size), p.bandwidth, p.latency});
            links.push_back({g, to((c + size - 1) % size), p.bandwidth, p.latency});
            break;
          case Wiring::kLine:
            // The ends' missing links lead to the inner neighbour and are never on a path.
            links.push_back({g, to(c + 1 < size ? c + 1 : c - 1), p.bandwidth, p.latency});
            links.push_back({g, to(c > 0 ? c - 1 : c + 1), p.bandwidth, p.latency});
            break;
          case Wiring::kMesh:
            for (int k = 1; k < size; ++k) {
              links.push_back({g, to((c + k) % size), p.bandwidth, p.latency});
            }
            break;
          case Wiring::kSwitch: {
            const VertexId s = switches + g / (stride * size) * stride + g % stride;
            links.push_back({g, s, p.bandwidth, p.latency / 2});
            links.push_back({s, g, p.bandwidth, p.latency / 2});
            break;
          }
        }
      }
      if (p.wiring == Wiring::kSwitch) {
        for (int s = 0; s < n / size; ++s) names.push_back(fmt::format("switch{}.{}", i, s));
      }
    }
    stride *= size;
  }
  return Topology(std::move(name), n, std::move(names), std::move(links),
                  [dims](int from, int to, std::vector<LinkId>& path) {
                    int at = from;
                    for (const PlacedDimension& d : dims) {
                      const int a = at / d.stride % d.plan.size, b = to / d.stride % d.plan.size;
                      if (a == b) continue;
                      append_dimension_path(d, at, a, b, path);
                      at += (b - a) * d.stride;
                    }
                  });
}

}  // namespace orrery
