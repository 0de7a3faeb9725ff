#include "orrery/accelerator/sparse/sparse_nest.h"

#include <algorithm>

namespace orrery {
namespace {

void add_block(const std::vector<NestLoop>& real_loops, const std::vector<int>& order,
               std::size_t dims, bool space, std::vector<NestLoop>& out) {
  std::vector<bool> placed(real_loops.size());
  std::vector<bool> seen(dims);
  const auto place = [&](std::size_t i) {
    placed[i] = true;
    seen[static_cast<std::size_t>(real_loops[i].dim)] = true;
    out.push_back(real_loops[i]);
  };
  for (const int dim : order) {
    bool found = false;
    for (std::size_t i = 0; i < real_loops.size(); ++i) {
      if (!placed[i] && real_loops[i].dim == dim) {
        place(i);
        found = true;
      }
    }
    if (!found) out.push_back({dim, 1, space, {}});
    seen[static_cast<std::size_t>(dim)] = true;
  }
  for (std::size_t i = 0; i < real_loops.size(); ++i) {
    if (!placed[i]) place(i);
  }
  for (std::size_t d = 0; d < dims; ++d) {
    if (!seen[d]) out.push_back({static_cast<int>(d), 1, space, {}});
  }
}

}  // namespace

int SparseNest::child(int level, int tensor) const {
  int l = level + 1;
  while (l < count() && !kept[static_cast<std::size_t>(l)][static_cast<std::size_t>(tensor)]) ++l;
  return l;
}

int SparseNest::parent(int level, int tensor) const {
  int l = level - 1;
  while (l >= 0 && !kept[static_cast<std::size_t>(l)][static_cast<std::size_t>(tensor)]) --l;
  return l;
}

bool uses(const EinsumTensor& tensor, int dim) {
  for (const auto& rank : tensor.ranks) {
    for (const IndexTerm& term : rank) {
      if (term.dim == dim) return true;
    }
  }
  return false;
}

SparseNest sparse_nest(const Einsum& problem, const Chip& chip, const Mapping& mapping,
                       const std::vector<LoopOrder>& orders) {
  SparseNest nest;
  const std::size_t levels = chip.levels.size(), dims = problem.dims.size();
  nest.levels.resize(levels);
  nest.kept.assign(levels, std::vector<bool>(problem.tensors.size()));
  Extents covered(dims, 1);
  for (std::size_t l = levels; l-- > 0;) {
    std::vector<NestLoop> time, space;  // innermost first
    for (auto node = mapping.nodes.rbegin(); node != mapping.nodes.rend(); ++node) {
      if (node->level != static_cast<int>(l)) continue;
      if (node->hold()) {
        nest.kept[l][static_cast<std::size_t>(node->index)] = true;
      } else {
        (node->space() ? space : time).push_back({node->index, node->size, node->space(), {}});
      }
    }
    const LoopOrder order = l < orders.size() ? orders[l] : LoopOrder{};
    std::vector<NestLoop>& loops = nest.levels[l];
    if (fan_out(chip.levels[l]) > 1 || !space.empty()) {
      add_block(space, order.space, dims, true, loops);
    }
    add_block(time, order.time, dims, false, loops);
    for (NestLoop& loop : loops) {
      covered[static_cast<std::size_t>(loop.dim)] *= loop.size;
      loop.covered = covered;
    }
  }
  return nest;
}

}  // namespace orrery
