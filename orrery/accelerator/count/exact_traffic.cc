#include "orrery/accelerator/count/exact_traffic.h"

#include <algorithm>

#include "orrery/accelerator/count/exact_count.h"
#include "orrery/accelerator/count/looptree_count.h"
#include "orrery/accelerator/count/tile_visits.h"

namespace orrery {
namespace {

bool moves(const EinsumTensor& tensor, int dim) {
  for (const std::vector<IndexTerm>& rank : tensor.ranks) {
    for (const IndexTerm& term : rank) {
      if (term.dim == dim) return true;
    }
  }
  return false;
}

// The nest of a tensor with the extents that stand below each node.
class ExactNest {
 public:
  ExactNest(const Einsum& einsum, const Chip& chip, int tensor, const Mapping& mapping,
            std::size_t fused);
  void count(ExactTraffic& out);

 private:
  // Loops in space are left out: those outside of node `one_of` stand at their first
  // instance, and those inside of node `shared_from` too where instances share the tensor.
  struct View {
    std::size_t one_of = 0;
    std::size_t shared_from = kNone;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is_toll(std::size_t node) const {
    return chip_.levels[static_cast<std::size_t>(nest_[node].node.level)].kind ==
           StorageLevel::Kind::kToll;
  }
  bool shares(const MappingNode& loop) const {
    const ArrayAxis& axis = chip_.levels[static_cast<std::size_t>(loop.level)].array[loop.axis];
    if (moves(about_, loop.index)) return false;
    const std::pair<int, int> delivery{loop.level, tensor_};
    if (std::find(unicast_.begin(), unicast_.end(), delivery) != unicast_.end()) return false;
    if (!axis.shared) return true;
    return std::any_of(axis.shared->begin(), axis.shared->end(),
                       [&](const std::string& name) { return is_about(name, about_); });
  }
  std::vector<SteppingLoop> loops_above(std::size_t node, const View& view) const;
  TileVisits visits(std::size_t node, const View& view) const {
    return {
        einsum_, about_, loops_above(node, view),
        node < nest_.size() ? extents_[node] : std::vector<std::int64_t>(einsum_.sizes.size(), 1)};
  }
  double points(const View& view) const;
  double begun_sums(std::size_t node, const View& view) const;
  Moved crossing(std::size_t to, const View& view) const;
  void add_transfer(std::size_t from, std::size_t to, ExactTraffic& out) const;
  double room(std::size_t node) const;

  const Einsum& einsum_;
  const Chip& chip_;
  int tensor_;
  const EinsumTensor& about_;
  const std::vector<std::pair<int, int>>& unicast_;
  std::vector<NestNode> nest_;
  std::vector<std::vector<std::int64_t>> extents_;  // below each node
};

ExactNest::ExactNest(const Einsum& einsum, const Chip& chip, int tensor, const Mapping& mapping,
                     std::size_t fused)
    : einsum_(einsum),
      chip_(chip),
      tensor_(tensor),
      about_(einsum.tensors[static_cast<std::size_t>(tensor)]),
      unicast_(mapping.unicast),
      nest_(own_nest(mapping, tensor, fused)),
      extents_(nest_.size()) {
  std::vector<std::int64_t> below(einsum.dims.size(), 1);
  for (std::size_t i = nest_.size(); i-- > 0;) {
    extents_[i] = below;
    const MappingNode& n = nest_[i].node;
    if (!n.hold()) below[static_cast<std::size_t>(n.index)] *= n.size;
  }
}

// `node` may be the end of the nest, which stands for the units.
std::vector<SteppingLoop> ExactNest::loops_above(std::size_t node, const View& view) const {
  const bool in_fused = node < nest_.size() && nest_[node].fused;
  std::vector<SteppingLoop> loops;
  for (std::size_t i = 0; i < node; ++i) {
    const MappingNode& n = nest_[i].node;
    if (n.hold() || n.size == 1) continue;
    if (n.space() && i < view.one_of) continue;
    if (n.space() && view.shared_from != kNone && i > view.shared_from && shares(n)) continue;
    loops.push_back({n.size, extents_[i][static_cast<std::size_t>(n.index)], n.index, n.time(),
                     n.time() && nest_[i].fused && !in_fused});
  }
  return loops;
}

// Points of the iteration space that a view has.
double ExactNest::points(const View& view) const {
  const std::vector<SteppingLoop> all = loops_above(nest_.size(), view);
  double n = 1;
  for (std::size_t d = 0; d < einsum_.dims.size(); ++d) {
    std::vector<SteppingLoop> loops;
    for (const SteppingLoop& l : all) {
      if (l.dim == static_cast<int>(d)) loops.push_back(l);
    }
    n *= begun_places(loops, einsum_.sizes[d]);
  }
  return n;
}

// Sums of an output that begin at nothing at the place of a node: its elements, once for each
// instance that adds up a part of its own.
double ExactNest::begun_sums(std::size_t node, const View& view) const {
  const std::vector<SteppingLoop> all = loops_above(node, view);
  std::vector<std::int64_t> sizes = einsum_.sizes;
  double n = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::vector<SteppingLoop> loops;
    const bool moved = moves(about_, static_cast<int>(d));
    for (const SteppingLoop& l : all) {
      if (l.dim == static_cast<int>(d) && (moved || !l.time)) loops.push_back(l);
    }
    if (!moved) {
      n *= begun_places(loops, sizes[d]);
      continue;
    }
    // Values of the dimension that the view reaches.
    const std::int64_t tile = node < nest_.size() ? extents_[node][d] : 1;
    if (tile > 1) loops.push_back({tile, 1, static_cast<int>(d), true, false});
    sizes[d] = static_cast<std::int64_t>(begun_places(loops, sizes[d]));
  }
  return n * tile_words(about_, sizes);
}

// Elements that reach the holder or the units at `to`, and of an output those that come back.
Moved ExactNest::crossing(std::size_t to, const View& view) const {
  Moved m;
  const double passes = to == nest_.size() ? points(view) : visits(to, view).gains();
  m.reads = passes;
  if (about_.output) {
    m.reads = std::max(0.0, passes - begun_sums(to, view));
    m.updates = passes;
  }
  return m;
}

double ExactNest::room(std::size_t node) const {
  std::vector<std::int64_t> extents = extents_[node];
  for (std::size_t d = 0; d < extents.size(); ++d) {
    extents[d] = std::min(extents[d], einsum_.sizes[d]);
  }
  return tile_words(about_, extents);
}

void ExactNest::add_transfer(std::size_t from, std::size_t to, ExactTraffic& out) const {
  Transfer t;
  t.from = nest_[from].node.level;
  t.to = nest_[to].node.level;
  t.tensor = tensor_;
  t.above = crossing(to, {from, from});
  const Moved below = crossing(to, {to, from});
  t.below = {below.updates, below.reads, 0};
  if (about_.output) {
    t.last_above.updates = visits(to, {from, from}).last();
    t.last_below.reads = visits(to, {to, from}).last();
  } else {
    t.first_above.reads = visits(to, {from, from}).first();
    t.first_below.fills = visits(to, {to, from}).first();
  }
  out.transfers.push_back(t);
}

void ExactNest::count(ExactTraffic& out) {
  std::vector<std::size_t> tolls, holders;
  for (std::size_t i = 0; i < nest_.size(); ++i) {
    if (nest_[i].node.hold()) (is_toll(i) ? tolls : holders).push_back(i);
  }
  const std::size_t begin = out.holders.size();
  for (std::size_t h = 0; h < holders.size(); ++h) {
    const std::size_t at = holders[h];
    const bool innermost = h + 1 == holders.size();
    const std::size_t to = innermost ? nest_.size() : holders[h + 1];
    ExactTensorTraffic t{nest_[at].node.level, tensor_, room(at), false, {}, {}, {}};
    t.all = crossing(to, {0, at});
    t.busiest = crossing(to, {at, at});
    if (innermost) t.computing = t.busiest;
    if (h > 0) {
      const Moved every = crossing(at, {0, kNone});
      const Moved one = crossing(at, {at, holders[h - 1]});
      t.all.fills = about_.output ? crossing(at, {0, holders[h - 1]}).reads : every.reads;
      t.all.reads += every.updates;
      t.busiest.fills = one.reads;
      t.busiest.reads += one.updates;
      TileVisits v = visits(at, {at, kNone});
      t.changes = v.gains() > v.first();
    }
    out.holders.push_back(t);
    if (!innermost) add_transfer(at, to, out);
  }
  for (const std::size_t at : tolls) {
    const auto next = std::upper_bound(holders.begin(), holders.end(), at);
    const std::size_t to = next == holders.end() ? nest_.size() : *next;
    const Moved all = crossing(to, {0, at}), one = crossing(to, {at, at});
    ExactTensorTraffic t{nest_[at].node.level, tensor_, 0, false, {}, {}, {}};
    t.all.reads = all.reads + all.updates;
    t.busiest.reads = one.reads + one.updates;
    const auto place =
        std::find_if(out.holders.begin() + static_cast<std::ptrdiff_t>(begin), out.holders.end(),
                     [&](const ExactTensorTraffic& h) { return h.level > t.level; });
    out.holders.insert(place, t);
  }
}

}  // namespace

void count_exact_traffic(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                         std::size_t fused, ExactTraffic& out) {
  out.steps = exact_steps(einsum, mapping);
  out.points = einsum.points();
  out.holders.clear();
  out.transfers.clear();
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    ExactNest(einsum, chip, static_cast<int>(t), mapping, fused).count(out);
  }
}

}  // namespace orrery
