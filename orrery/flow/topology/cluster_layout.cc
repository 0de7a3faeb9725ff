#include "orrery/flow/topology/cluster_layout.h"

#include "orrery/base/index.h"

namespace orrery {
namespace {

void route_inside(const ClusterLayout& l, const PlacedNode& node, int a, int b,
                  std::vector<LinkId>& path) {
  if (a == b) return;
  const NodePlan& n = node.plan;
  if (n.bridged > 1 && a / n.bridged == b / n.bridged) {
    const int base = a / n.bridged * n.bridged;
    path.push_back(node.bridge + a * (n.bridged - 1) +
                   ((b - base) - (a - base) + n.bridged) % n.bridged - 1);
    return;
  }
  switch (n.inside) {
    case Inside::kSwitch:
      path.push_back(node.inside + 2 * a);
      path.push_back(node.inside + 2 * b + 1);
      return;
    case Inside::kMesh:
      path.push_back(node.inside + a * (n.gpus - 1) + (b - a + n.gpus) % n.gpus - 1);
      return;
    case Inside::kCubeMesh: {
      const std::size_t first = path.size();
      l.cube->route(a, b, path);
      for (std::size_t i = first; i < path.size(); ++i) path[i] += node.inside;
      return;
    }
    case Inside::kBus: {
      const int from = a / n.gpus_per_switch, to = b / n.gpus_per_switch;
      path.push_back(node.inside + 2 * a);
      if (from != to || !n.peer_to_peer) {
        path.push_back(node.inside + 2 * n.gpus + 2 * from);
        path.push_back(node.inside + 2 * n.gpus + 2 * to + 1);
      }
      path.push_back(node.inside + 2 * b + 1);
      return;
    }
    case Inside::kTorus: {
      // Links of a dimension are numbered consecutively, two for each GPU (dimensions_topology).
      LinkId base = node.inside;
      int stride = 1, at = a;
      for (std::int64_t wide : n.torus) {
        const int size = static_cast<int>(wide);
        if (size == 1) continue;
        int c = at / stride % size;
        const int target = b / stride % size;
        const int up = (target - c + size) % size;
        const bool forward = 2 * up < size || (2 * up == size && c % 2 == 0) || size == 2;
        while (c != target) {
          path.push_back(base + 2 * at + (forward ? 0 : 1));
          const int next = forward ? (c + 1) % size : (c + size - 1) % size;
          at += (next - c) * stride;
          c = next;
        }
        base += 2 * n.gpus;
        stride *= size;
      }
      return;
    }
  }
}

void route_tree(const ClusterLayout&, const std::vector<SwitchLevel>& levels, int i, int j, int to,
                std::vector<LinkId>& path) {
  std::size_t top = 0;
  while (top < levels.size() && i / levels[top].span != j / levels[top].span) ++top;
  const auto link = [&](std::size_t t, int node) {
    const SwitchLevel& level = levels[t];
    return level.up + 2 * (node / level.span * level.ways + to % level.ways);
  };
  for (std::size_t t = 0; t < top; ++t) path.push_back(link(t, i));
  for (std::size_t t = top; t-- > 0;) path.push_back(link(t, j) + 1);
}

void route_dragonfly(const ClusterLayout& l, int i, int j, std::vector<LinkId>& path) {
  const int a = l.network.routers_per_group;
  int r = i / l.network.nodes_per_router;
  const int target = j / l.network.nodes_per_router;
  const auto local = [&](int to) {
    if (r == to) return;
    path.push_back(l.local + r * (a - 1) + (to - r + a) % a - 1);
    r = to;
  };
  const int g = r / a, h = target / a;
  if (g != h) {
    local(g * a + dragonfly_gateway(l, g, h));
    path.push_back(l.global + g * (l.groups - 1) + (h - g + l.groups) % l.groups - 1);
    r = h * a + dragonfly_gateway(l, h, g);
  }
  local(target);
}

}  // namespace

int dragonfly_gateway(const ClusterLayout& l, int group, int other) {
  return (other - group + l.groups - 1) % l.groups % l.network.routers_per_group;
}

void route(const ClusterLayout& l, int from, int to, std::vector<LinkId>& path) {
  const int i = l.node_of[index(from)];
  const int j = l.node_of[index(to)];
  const PlacedNode& a = l.nodes[index(i)];
  const PlacedNode& b = l.nodes[index(j)];
  int here = from - a.first_gpu;
  const int there = to - b.first_gpu;
  if (i == j) return route_inside(l, a, here, there, path);
  const int in = b.port_of(there);
  int out = a.port_of(here);
  if (l.network.rails && out != in) {
    const int forwards = a.on_port(here, in);
    route_inside(l, a, here, forwards, path);
    here = forwards;
    out = in;
  }
  if (a.shared_ports()) path.push_back(a.nic + 2 * here);
  path.push_back(a.ports + 2 * out);
  if (l.network.kind == NetworkPlan::Kind::kDragonfly) {
    route_dragonfly(l, i, j, path);
  } else {
    route_tree(l, l.planes[l.network.rails ? index(in) : 0], i, j, to, path);
  }
  path.push_back(b.ports + 2 * in + 1);
  if (b.shared_ports()) path.push_back(b.nic + 2 * there + 1);
}

}  // namespace orrery
