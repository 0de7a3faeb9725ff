#include "orrery/accelerator/count/exact_count.h"

#include "orrery/accelerator/count/tile_visits.h"

namespace orrery {
namespace {

void count_tensor(const Einsum& einsum, const Mapping& mapping, int tensor, ExactCounts& out) {
  const std::vector<NestNode> nest = own_nest(mapping, tensor, 0);
  std::vector<SteppingLoop> loops;
  std::vector<std::int64_t> extents(einsum.dims.size(), 1);
  for (const auto& [n, fused] : nest) {
    if (!n.hold()) extents[static_cast<std::size_t>(n.index)] *= n.size;
  }
  bool outermost = true;
  for (const auto& [n, fused] : nest) {
    if (!n.hold()) {
      std::int64_t& extent = extents[static_cast<std::size_t>(n.index)];
      extent /= n.size;
      if (n.size > 1) loops.push_back({n.size, extent, n.index, n.time(), false});
      continue;
    }
    if (!outermost) {
      ExactHolder h{n.level, tensor, 0, 0, 0};
      TileVisits visits(einsum, einsum.tensors[static_cast<std::size_t>(tensor)], loops, extents);
      h.gains = visits.gains();
      h.first = visits.first();
      h.last = visits.last();
      out.holders.push_back(h);
    }
    outermost = false;
  }
}

}  // namespace

double exact_steps(const Einsum& einsum, const Mapping& mapping) {
  double steps = 1;
  for (std::size_t d = 0; d < einsum.dims.size(); ++d) {
    std::vector<SteppingLoop> loops;
    std::int64_t inside = 1;
    for (auto n = mapping.nodes.rbegin(); n != mapping.nodes.rend(); ++n) {
      if (n->hold() || n->index != static_cast<int>(d)) continue;
      if (n->time()) loops.insert(loops.begin(), {n->size, inside, n->index, true, false});
      inside *= n->size;
    }
    steps *= begun_places(loops, einsum.sizes[d]);
  }
  return steps;
}

void count_exact(const Einsum& einsum, const Mapping& mapping, ExactCounts& out) {
  out.steps = exact_steps(einsum, mapping);
  out.holders.clear();
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    count_tensor(einsum, mapping, static_cast<int>(t), out);
  }
}

}  // namespace orrery
