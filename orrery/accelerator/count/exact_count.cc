#include "orrery/accelerator/count/exact_count.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery {
namespace {

// A loop above a holder, with the step of its dimension that an iteration takes.
struct SteppingLoop {
  std::int64_t size = 1, step = 1;
  int dim = 0;
  bool time = true;
};

// Iterations of loops in time of one dimension, outermost first, that begin before its end.
double begun(const std::vector<SteppingLoop>& loops, std::size_t i, std::int64_t left) {
  if (left <= 0) return 0;
  if (i == loops.size()) return 1;
  std::int64_t inner = 0;
  double whole = 1;
  for (std::size_t j = i + 1; j < loops.size(); ++j) {
    inner += (loops[j].size - 1) * loops[j].step;
    whole *= real(loops[j].size);
  }
  const std::int64_t full =
      left > inner ? std::min(loops[i].size, (left - inner - 1) / loops[i].step + 1) : 0;
  const double rest = full < loops[i].size ? begun(loops, i + 1, left - full * loops[i].step) : 0;
  return real(full) * whole + rest;
}

// How the part of a tile in one dimension changes: its shift and its lengths before and after.
using Change = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
using Changes = std::map<Change, double>;  // how often

// The changes of one dimension over the places of its loops, where the loop `advancing` goes on by
// one, and loops in time after it return. `advancing` may be another dimension's; loops.size():
// the first tile; -1: the last tile. Both have no tile before.
class DimensionChanges {
 public:
  DimensionChanges(const std::vector<SteppingLoop>& loops, int dim, std::int64_t size,
                   std::int64_t tile)
      : loops_(loops), dim_(dim), size_(size), tile_(tile) {}

  Changes of(std::ptrdiff_t advancing) {
    advancing_ = advancing;
    changes_.clear();
    visit(0, 0, 0);
    return std::move(changes_);
  }

 private:
  std::int64_t length(std::int64_t at) const {
    return std::clamp<std::int64_t>(size_ - at, 0, tile_);
  }
  void visit(std::size_t i, std::int64_t before, std::int64_t now) {
    if (i == loops_.size()) {
      ++changes_[{now - before, length(before), length(now)}];
      return;
    }
    const SteppingLoop& loop = loops_[i];
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i);
    const std::int64_t end = (loop.size - 1) * loop.step;
    const bool edge = advancing_ < 0 || advancing_ == static_cast<std::ptrdiff_t>(loops_.size());
    if (loop.dim != dim_) {
      visit(i + 1, before, now);
    } else if (loop.time && edge) {
      const std::int64_t where = advancing_ < 0 ? last_of(now, loop) : 0;
      visit(i + 1, before + where, now + where);
    } else if (loop.time && at > advancing_) {
      visit(i + 1, before + end, now);
    } else {
      const std::int64_t places = loop.size - (at == advancing_ ? 1 : 0);
      const std::int64_t by = at == advancing_ ? loop.step : 0;
      for (std::int64_t k = 0; k < places; ++k) {
        visit(i + 1, before + k * loop.step, now + k * loop.step + by);
      }
    }
  }
  // The last place of a loop that begins before the dimension's end.
  std::int64_t last_of(std::int64_t now, const SteppingLoop& loop) const {
    return std::clamp<std::int64_t>((size_ - now - 1) / loop.step, 0, loop.size - 1) * loop.step;
  }

  const std::vector<SteppingLoop>& loops_;
  int dim_;
  std::int64_t size_, tile_;
  std::ptrdiff_t advancing_ = 0;
  Changes changes_;
};

// Sums over all places: of the elements of tiles, and of those that were there before.
struct Volumes {
  double now = 1, kept = 1;
};

class HolderGains {
 public:
  HolderGains(const Einsum& einsum, const EinsumTensor& tensor, std::vector<SteppingLoop> loops,
              std::vector<std::int64_t> tile)
      : einsum_(einsum), tensor_(tensor), loops_(std::move(loops)), tile_(std::move(tile)) {}

  void count(ExactHolder& out) {
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(loops_.size());
    out.first = volumes(n).now;
    out.last = volumes(-1).now;
    out.gains = out.first;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      if (!loops_[static_cast<std::size_t>(j)].time) continue;
      const Volumes v = volumes(j);
      out.gains += v.now - v.kept;
    }
  }

 private:
  Changes changes(int dim, std::ptrdiff_t advancing) {
    const std::size_t d = static_cast<std::size_t>(dim);
    return DimensionChanges(loops_, dim, einsum_.sizes[d], tile_[d]).of(advancing);
  }

  Volumes volumes(std::ptrdiff_t advancing) {
    Volumes v;
    std::vector<char> moves(einsum_.dims.size(), 0);
    for (const std::vector<IndexTerm>& rank : tensor_.ranks) {
      const Volumes r = rank_volumes(rank, advancing);
      v.now *= r.now;
      v.kept *= r.kept;
      for (const IndexTerm& t : rank) moves[static_cast<std::size_t>(t.dim)] = 1;
    }
    for (std::size_t d = 0; d < moves.size(); ++d) {
      if (moves[d] != 0) continue;
      double now = 0, kept = 0;
      for (const auto& [change, n] : changes(static_cast<int>(d), advancing)) {
        const auto [shift, before, after] = change;
        now += after > 0 ? n : 0;
        kept += after > 0 && before > 0 ? n : 0;
      }
      v.now *= now;
      v.kept *= kept;
    }
    return v;
  }

  // Changes of a sum of dimensions: each combination of theirs.
  Volumes rank_volumes(const std::vector<IndexTerm>& rank, std::ptrdiff_t advancing) {
    Changes all{{{0, 1, 1}, 1.0}};
    for (const IndexTerm& t : rank) {
      Changes next;
      for (const auto& [a, n] : all) {
        for (const auto& [b, m] : changes(t.dim, advancing)) {
          const auto [shift, before, after] = a;
          const auto [more, before_more, after_more] = b;
          const auto joined = [&](std::int64_t x, std::int64_t y) {
            return x == 0 || y == 0 ? 0 : x + t.coefficient * (y - 1);
          };
          next[{shift + t.coefficient * more, joined(before, before_more),
                joined(after, after_more)}] += n * m;
        }
      }
      all = std::move(next);
    }
    Volumes v{0, 0};
    for (const auto& [change, n] : all) {
      const auto [shift, before, after] = change;
      const std::int64_t overlap =
          std::min(before, shift + after) - std::max<std::int64_t>(0, shift);
      v.now += n * real(after);
      v.kept += n * real(std::max<std::int64_t>(0, overlap));
    }
    return v;
  }

  const Einsum& einsum_;
  const EinsumTensor& tensor_;
  std::vector<SteppingLoop> loops_;
  std::vector<std::int64_t> tile_;
};

// The nest of a tensor, with loops in space as high as they can stand.
std::vector<MappingNode> own_nest(const Mapping& mapping, int tensor) {
  std::vector<MappingNode> nest;
  const auto own = [&](const MappingNode& n) { return n.hold() && n.index == tensor; };
  for (const MappingNode& n : mapping.nodes) {
    if (own(n) || n.time()) nest.push_back(n);
  }
  for (auto n = mapping.nodes.rbegin(); n != mapping.nodes.rend(); ++n) {
    if (!n->space()) continue;
    std::size_t at = 0;
    for (std::size_t i = 0; i < nest.size(); ++i) {
      if (own(nest[i]) && nest[i].level <= n->level) at = i + 1;
    }
    nest.insert(nest.begin() + static_cast<std::ptrdiff_t>(at), *n);
  }
  return nest;
}

void count_tensor(const Einsum& einsum, const Mapping& mapping, int tensor, ExactCounts& out) {
  const std::vector<MappingNode> nest = own_nest(mapping, tensor);
  std::vector<SteppingLoop> loops;
  std::vector<std::int64_t> extents(einsum.dims.size(), 1);
  for (const MappingNode& n : nest) {
    if (!n.hold()) extents[static_cast<std::size_t>(n.index)] *= n.size;
  }
  bool outermost = true;
  for (const MappingNode& n : nest) {
    if (!n.hold()) {
      std::int64_t& extent = extents[static_cast<std::size_t>(n.index)];
      extent /= n.size;
      if (n.size > 1) loops.push_back({n.size, extent, n.index, n.time()});
      continue;
    }
    if (!outermost) {
      ExactHolder h{n.level, tensor, 0, 0, 0};
      HolderGains(einsum, einsum.tensors[static_cast<std::size_t>(tensor)], loops, extents)
          .count(h);
      out.holders.push_back(h);
    }
    outermost = false;
  }
}

}  // namespace

void count_exact(const Einsum& einsum, const Mapping& mapping, ExactCounts& out) {
  out.steps = 1;
  out.holders.clear();
  for (std::size_t d = 0; d < einsum.dims.size(); ++d) {
    std::vector<SteppingLoop> loops;
    std::int64_t inside = 1;
    for (auto n = mapping.nodes.rbegin(); n != mapping.nodes.rend(); ++n) {
      if (n->hold() || n->index != static_cast<int>(d)) continue;
      if (n->time()) loops.insert(loops.begin(), {n->size, inside, n->index, true});
      inside *= n->size;
    }
    out.steps *= begun(loops, 0, einsum.sizes[d]);
  }
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    count_tensor(einsum, mapping, static_cast<int>(t), out);
  }
}

}  // namespace orrery
