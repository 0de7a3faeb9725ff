#include "orrery/accelerator/count/tile_visits.h"

#include <algorithm>

namespace orrery {
namespace {

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

// The changes of one dimension over the places of its loops, where the loop `advancing` goes on by
// one, and loops in time after it return. `advancing` may be another dimension's; loops.size():
// the first tile; -1: the last tile. Both have no tile before. Places beyond the dimension's end
// are left out.
class DimensionChanges {
 public:
  using Changes = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, double>;
  struct Extent {
    int dim = 0;
    std::int64_t size = 1, tile = 1;
  };

  DimensionChanges(const std::vector<SteppingLoop>& loops, Extent extent, std::ptrdiff_t advancing)
      : loops_(loops), extent_(extent), advancing_(advancing) {}

  Changes find() {
    visit(0, {0, 0, 1});
    return std::move(changes_);
  }

 private:
  struct Place {
    std::int64_t before = 0, now = 0;
    double weight = 1;  // places like this one
  };
  std::int64_t length(std::int64_t at) const {
    return std::clamp<std::int64_t>(extent_.size - at, 0, extent_.tile);
  }
  // The furthest offset that loops from `i` on add.
  std::int64_t reach(std::size_t i) const {
    std::int64_t sum = 0;
    for (; i < loops_.size(); ++i) {
      if (loops_[i].dim == extent_.dim) sum += (loops_[i].size - 1) * loops_[i].step;
    }
    return sum;
  }
  void visit(std::size_t i, Place p);
  void visit_places(std::size_t i, Place p);
  // The last place of a loop that begins before the dimension's end.
  std::int64_t last_of(std::int64_t now, const SteppingLoop& loop) const {
    return std::clamp<std::int64_t>((extent_.size - now - 1) / loop.step, 0, loop.size - 1) *
           loop.step;
  }

  const std::vector<SteppingLoop>& loops_;
  Extent extent_;
  std::ptrdiff_t advancing_ = 0;
  Changes changes_;
};

void DimensionChanges::visit(std::size_t i, Place p) {
  if (i == loops_.size()) {
    changes_[{p.now - p.before, length(p.before), length(p.now)}] += p.weight;
    return;
  }
  const SteppingLoop& loop = loops_[i];
  const bool edge = advancing_ < 0 || advancing_ == static_cast<std::ptrdiff_t>(loops_.size());
  if (loop.dim != extent_.dim) {
    visit(i + 1, p);
  } else if (loop.time && edge) {
    const std::int64_t where = advancing_ < 0 ? last_of(p.now, loop) : 0;
    visit(i + 1, {p.before + where, p.now + where, p.weight});
  } else if (loop.time && static_cast<std::ptrdiff_t>(i) > advancing_) {
    visit(i + 1, {p.before + (loop.size - 1) * loop.step, p.now, p.weight});
  } else {
    visit_places(i, p);
  }
}

void DimensionChanges::visit_places(std::size_t i, Place p) {
  const SteppingLoop& loop = loops_[i];
  const bool advances = static_cast<std::ptrdiff_t>(i) == advancing_;
  const std::int64_t places = loop.size - (advances ? 1 : 0);
  if (advances) p.now += loop.step;
  // Places where neither tile reaches the dimension's end are alike.
  const std::int64_t left = extent_.size - std::max(p.before, p.now) - reach(i + 1) - extent_.tile;
  const std::int64_t inside = left < 0 ? 0 : std::min(places, left / loop.step + 1);
  if (inside > 0) visit(i + 1, {p.before, p.now, p.weight * real(inside)});
  for (std::int64_t k = inside; k < places && p.now + k * loop.step < extent_.size; ++k) {
    visit(i + 1, {p.before + k * loop.step, p.now + k * loop.step, p.weight});
  }
}

}  // namespace

double begun_places(const std::vector<SteppingLoop>& loops, std::int64_t left) {
  return begun(loops, 0, left);
}

double TileVisits::gains() {
  double gained = first();
  for (std::size_t j = 0; j < loops_.size(); ++j) {
    if (!loops_[j].time) continue;
    const Volumes v = volumes(static_cast<std::ptrdiff_t>(j));
    gained += loops_[j].forgets ? v.now : v.now - v.kept;
  }
  return gained;
}

TileVisits::Changes TileVisits::changes(int dim, std::ptrdiff_t advancing) const {
  const std::size_t d = static_cast<std::size_t>(dim);
  return DimensionChanges(loops_, {dim, einsum_.sizes[d], tile_[d]}, advancing).find();
}

TileVisits::Volumes TileVisits::volumes(std::ptrdiff_t advancing) const {
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
TileVisits::Volumes TileVisits::rank_volumes(const std::vector<IndexTerm>& rank,
                                             std::ptrdiff_t advancing) const {
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
    const std::int64_t overlap = std::min(before, shift + after) - std::max<std::int64_t>(0, shift);
    v.now += n * real(after);
    v.kept += n * real(std::max<std::int64_t>(0, overlap));
  }
  return v;
}

std::vector<NestNode> own_nest(const Mapping& mapping, int tensor, std::size_t fused) {
  std::vector<NestNode> nest;
  const auto own = [&](const MappingNode& n) { return n.hold() && n.index == tensor; };
  for (std::size_t i = 0; i < mapping.nodes.size(); ++i) {
    const MappingNode& n = mapping.nodes[i];
    if (own(n) || n.time()) nest.push_back({n, i < fused});
  }
  for (auto n = mapping.nodes.rbegin(); n != mapping.nodes.rend(); ++n) {
    if (!n->space()) continue;
    std::size_t at = 0;
    for (std::size_t i = 0; i < nest.size(); ++i) {
      if (own(nest[i].node) && nest[i].node.level <= n->level) at = i + 1;
    }
    nest.insert(nest.begin() + static_cast<std::ptrdiff_t>(at), NestNode{*n, false});
  }
  return nest;
}

}  // namespace orrery
