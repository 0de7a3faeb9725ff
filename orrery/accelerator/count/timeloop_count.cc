#include "orrery/accelerator/count/timeloop_count.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/accelerator/count/boundary.h"
#include "orrery/accelerator/count/imperfect.h"

namespace orrery {
namespace {

// Extent of each dimension, by which a tensor's tile is measured.
using Extents = std::array<std::int64_t, kMostEinsumDims>;

RankVector tile_of(const EinsumTensor& tensor, const Extents& extents) {
  RankVector tile = {};
  for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
    tile[r] = rank_extent(tensor.ranks[r], extents);
  }
  return tile;
}

double accesses_of(const TensorCounts& t) {
  double n = 0;
  for (const Delivery& d : t.deliveries) n += d.accesses;
  return n;
}

double received(const TensorCounts& t, std::int64_t fanout) {
  double n = 0;
  for (const Delivery& d : t.deliveries) n += d.accesses * real(d.multicast);
  return n / real(fanout);
}

bool is_unicast(const Mapping& mapping, std::size_t level, std::size_t tensor) {
  const std::pair<int, int> here{static_cast<int>(level), static_cast<int>(tensor)};
  return std::find(mapping.unicast.begin(), mapping.unicast.end(), here) != mapping.unicast.end();
}

}  // namespace

struct TimeloopCounter::Scratch {
  struct Flat {
    MappingNode loop;
    std::int64_t stride;  // of an iteration, in elements of the dimension
  };
  std::vector<Flat> loops;       // of more than one iteration, outermost first
  std::vector<Extents> extents;  // of the tile of each level, and of a point
  std::vector<Extents> last;     // of the last tile, where factors are imperfect
  std::vector<Extents> spatial;  // iterations in space below each level
  bool imperfect = false;
  std::vector<MovingLoop> time, space;
  std::vector<PartialLoop> partial;
  std::vector<char> keeps;  // of each level and tensor
  BoundaryCounter counter;
  BoundaryCounts counts;

  bool kept(std::size_t level, std::size_t tensor, std::size_t tensors) const {
    return keeps[level * tensors + tensor] != 0;
  }
  MovingLoop moving(const Flat& f, const EinsumTensor& tensor) const {
    MovingLoop m{f.loop.size, f.loop.time() ? -1 : f.loop.axis, {}};
    for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
      for (const IndexTerm& term : tensor.ranks[r]) {
        if (term.dim == f.loop.index) m.offset[r] += term.coefficient * f.stride;
      }
    }
    return m;
  }
  // The largest of the tiles inside of the first `outside` loops: a dimension ends early only if no
  // loop outside can be in an iteration that is not its last.
  Extents largest(std::size_t outside, const Extents& whole, const Extents& end) const {
    Extents out = whole;
    for (std::size_t d = 0; d < out.size(); ++d) {
      const bool divided = std::any_of(
          loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(outside), [d](const Flat& f) {
            return static_cast<std::size_t>(f.loop.index) == d && f.loop.last > 1;
          });
      if (!divided) out[d] = end[d];
    }
    return out;
  }
  // The number of loops above the level, and with those of the level in time.
  std::size_t loops_above(std::size_t level, bool with_time) const {
    std::size_t n = 0;
    while (n < loops.size() && (loops[n].loop.level < static_cast<int>(level) ||
                                (with_time && loops[n].loop.level == static_cast<int>(level) &&
                                 loops[n].loop.time()))) {
      ++n;
    }
    return n;
  }
};

TimeloopCounter::TimeloopCounter(const Einsum& problem, const Chip& chip)
    : problem_(&problem), chip_(&chip) {
  for (const EinsumTensor& tensor : problem.tensors) {
    std::uint32_t dims = 0;
    bool plain = true;
    for (const std::vector<IndexTerm>& rank : tensor.ranks) {
      plain = plain && rank.size() <= 1;
      for (const IndexTerm& term : rank) {
        const std::uint32_t bit = 1U << static_cast<unsigned>(term.dim);
        plain = plain && (dims & bit) == 0;
        dims |= bit;
      }
    }
    dims_.push_back(dims);
    plain_.push_back(plain ? 1 : 0);
  }
  for (const StorageLevel& level : chip.levels) {
    hops_ = hops_ || level.hop_energy > 0 || level.router_energy > 0;
  }
}

void TimeloopCounter::flatten(const Mapping& mapping, Scratch& s, NestCounts& out) const {
  const std::size_t levels = chip_->levels.size(), tensors = problem_->tensors.size(),
                    dims = problem_->dims.size();
  s.loops.clear();
  s.imperfect = false;
  s.keeps.assign(levels * tensors, 0);
  for (const MappingNode& node : mapping.nodes) {
    const auto level = static_cast<std::size_t>(node.level);
    if (node.hold()) {
      s.keeps[level * tensors + static_cast<std::size_t>(node.index)] = 1;
    } else if (node.size > 1) {
      s.loops.push_back({node, 1});
      s.imperfect = s.imperfect || node.last != node.size;
    }
  }
  const auto set_to_one = [dims](std::vector<Extents>& all, std::size_t n) {
    all.resize(n);
    for (Extents& e : all) std::fill_n(e.begin(), dims, 1);
  };
  set_to_one(s.spatial, levels);
  out.levels.resize(levels);
  for (LevelCounts& level : out.levels) {
    level.instances = level.fanout = 1;
    level.tensors.resize(tensors);
  }
  out.steps = 1;
  // From the innermost loop outwards: the tile of a level is what all loops inside of it cover.
  s.extents.resize(levels + 1);
  std::fill_n(s.extents[levels].begin(), dims, 1);
  std::size_t i = s.loops.size();
  for (std::size_t l = levels; l-- > 0;) {
    Extents& tile = s.extents[l];
    std::copy_n(s.extents[l + 1].begin(), dims, tile.begin());
    for (; i > 0 && s.loops[i - 1].loop.level == static_cast<int>(l); --i) {
      Scratch::Flat& f = s.loops[i - 1];
      const auto dim = static_cast<std::size_t>(f.loop.index);
      f.stride = tile[dim];
      tile[dim] *= f.loop.size;
      if (f.loop.time()) {
        out.steps *= real(f.loop.size);
      } else {
        out.levels[l].fanout *= f.loop.size;
        s.spatial[l][dim] *= f.loop.size;
      }
    }
  }
  if (s.imperfect) {
    // Strides are those of full iterations. A tile that ends early has the last of them.
    set_to_one(s.last, levels + 1);
    for (std::size_t f = s.loops.size(); f-- > 0;) {
      const MappingNode& loop = s.loops[f].loop;
      const auto dim = static_cast<std::size_t>(loop.index);
      for (std::size_t l = 0; l <= static_cast<std::size_t>(loop.level); ++l) {
        s.last[l][dim] += s.loops[f].stride * (loop.last - 1);
      }
    }
  }
  std::int64_t instances = 1;
  for (LevelCounts& level : out.levels) {
    level.instances = instances;
    level.active = real(instances);
    instances *= level.fanout;
  }
  out.compute_units = instances;
  out.active_units = real(instances);
}

// The deliveries below `level`, by the loops in s.time and s.space.
void TimeloopCounter::count_boundary(std::size_t tensor, std::size_t l, const Mapping& mapping,
                                     Scratch& s, NestCounts& out) const {
  const EinsumTensor& words = problem_->tensors[tensor];
  Boundary b;
  b.time = s.time;
  b.space = s.space;
  b.tile = tile_of(words, s.extents[l + 1]);
  b.ranks = static_cast<int>(words.ranks.size());
  b.compute = l + 1 == chip_->levels.size();
  b.no_multicast = is_unicast(mapping, l, tensor);
  const StorageLevel& level = chip_->levels[l];
  b.hops = level.hop_energy > 0 || level.router_energy > 0;
  if (!level.array.empty()) b.columns = level.array[0].size;
  if (level.array.size() > 1) b.rows = level.array[1].size;
  s.counter.count(b, s.counts);
  TensorCounts& c = out.levels[l].tensors[tensor];
  c.deliveries.assign(s.counts.deliveries.begin(), s.counts.deliveries.end());
  c.link_transfers = s.counts.link_transfers;
}

void TimeloopCounter::count_deliveries(std::size_t tensor, const Mapping& mapping, Scratch& s,
                                       NestCounts& out) const {
  s.time.clear();
  std::size_t next = 0;
  for (std::size_t l = 0; l < chip_->levels.size(); ++l) {
    s.space.clear();
    for (; next < s.loops.size() && s.loops[next].loop.level == static_cast<int>(l); ++next) {
      const Scratch::Flat& f = s.loops[next];
      (f.loop.time() ? s.time : s.space).push_back(s.moving(f, problem_->tensors[tensor]));
    }
    count_boundary(tensor, l, mapping, s, out);
  }
}

// A tensor of which each rank is one dimension (timeloop_count.h). Points that neighbours compute
// on may be passed on, so that an array of compute units is counted as any other.
void TimeloopCounter::count_plain_deliveries(std::size_t tensor, const Mapping& mapping, Scratch& s,
                                             NestCounts& out) const {
  const EinsumTensor& words = problem_->tensors[tensor];
  const std::uint32_t moving = dims_[tensor];
  const std::size_t levels = chip_->levels.size();
  double iterations = 1, fetches = 1;
  std::size_t next = 0;
  for (std::size_t l = 0; l < levels; ++l) {
    const std::size_t begin = next;
    std::int64_t multicast = 1;
    for (; next < s.loops.size() && s.loops[next].loop.level == static_cast<int>(l); ++next) {
      const MappingNode& loop = s.loops[next].loop;
      const bool moves = (moving >> static_cast<unsigned>(loop.index) & 1U) != 0;
      if (!loop.time()) {
        multicast *= moves ? 1 : loop.size;
        continue;
      }
      iterations *= real(loop.size);
      if (moves) fetches = iterations;
    }
    const bool compute = l + 1 == levels;
    const std::int64_t fanout = out.levels[l].fanout;
    if (compute && fanout > 1) {
      s.time.clear();
      s.space.clear();
      for (std::size_t i = 0; i < next; ++i) {
        const Scratch::Flat& f = s.loops[i];
        if (f.loop.time()) s.time.push_back(s.moving(f, words));
        if (!f.loop.time() && i >= begin) s.space.push_back(s.moving(f, words));
      }
      return count_boundary(tensor, l, mapping, s, out);
    }
    const std::int64_t scatter = fanout / multicast;
    const double volume = tile_words(words, s.extents[l + 1]);
    TensorCounts& c = out.levels[l].tensors[tensor];
    c.deliveries.assign(
        1, {multicast, scatter, volume * (compute ? iterations : fetches) * real(scatter), 0});
    c.link_transfers = 0;
  }
}

void TimeloopCounter::count_partial_deliveries(std::size_t tensor, const Mapping& mapping,
                                               Scratch& s, NestCounts& out) const {
  const EinsumTensor& words = problem_->tensors[tensor];
  const std::size_t levels = chip_->levels.size();
  s.partial.clear();
  for (const Scratch::Flat& f : s.loops) {
    s.partial.push_back(
        {s.moving(f, words), f.loop.index, f.loop.level, f.loop.last, f.loop.time()});
  }
  double active = 1;
  for (std::size_t l = 0; l < levels; ++l) {
    PartialBoundary b;
    b.loops = s.partial;
    while (b.below < s.loops.size() && s.loops[b.below].loop.level <= static_cast<int>(l)) {
      ++b.below;
    }
    b.level = static_cast<int>(l);
    b.tensor = &words;
    b.tile = s.extents[l + 1];
    b.last_tile = s.last[l + 1];
    b.compute = l + 1 == levels;
    b.no_multicast = is_unicast(mapping, l, tensor);
    const StorageLevel& level = chip_->levels[l];
    if (!level.array.empty()) b.columns = level.array[0].size;
    PartialCounts counts = count_imperfect(b);
    out.levels[l].active = active;
    active *= counts.active;
    TensorCounts& c = out.levels[l].tensors[tensor];
    c.deliveries = std::move(counts.counts.deliveries);
    c.link_transfers = counts.counts.link_transfers;
    if (b.compute) out.steps = counts.steps;
  }
  out.active_units = active;
}

// A level that does not keep the tensor passes on what the level above sends: the level above sends
// as much as is asked of this one.
void TimeloopCounter::pass_bypassed(std::size_t tensor, const Scratch& s, NestCounts& out) const {
  for (std::size_t l = chip_->levels.size(); l-- > 1;) {
    if (s.kept(l, tensor, problem_->tensors.size())) continue;
    TensorCounts& above = out.levels[l - 1].tensors[tensor];
    const double sent = received(above, out.levels[l - 1].fanout);
    const double factor = sent > 0 ? accesses_of(out.levels[l].tensors[tensor]) / sent : 0;
    for (Delivery& d : above.deliveries) d.accesses *= factor;
    above.link_transfers = 0;
  }
}

// Words of the tiles of all instances of `level` below an instance of `outer`, which overlap.
double TimeloopCounter::united_words(const EinsumTensor& tensor, std::size_t outer,
                                     std::size_t level, const Scratch& s) {
  if (!s.imperfect) {
    double n = 1;
    for (const std::vector<IndexTerm>& rank : tensor.ranks) {
      std::int64_t extent = 1;
      for (const IndexTerm& term : rank) {
        const auto dim = static_cast<std::size_t>(term.dim);
        std::int64_t covered = s.extents[level][dim];
        for (std::size_t l = outer; l < level; ++l) covered *= s.spatial[l][dim];
        extent += term.coefficient * (covered - 1);
      }
      n *= real(extent);
    }
    return n;
  }
  Extents all = s.extents[level], end = s.last[level];
  for (std::size_t i = s.loops.size(); i-- > 0;) {
    const MappingNode& loop = s.loops[i].loop;
    const auto at = static_cast<std::size_t>(loop.level);
    if (loop.time() || at < outer || at >= level) continue;
    const auto dim = static_cast<std::size_t>(loop.index);
    end[dim] += all[dim] * (loop.last - 1);
    all[dim] *= loop.size;
  }
  return tile_words(tensor, s.largest(s.loops_above(outer, true), all, end));
}

void TimeloopCounter::count_accesses(std::size_t tensor, const Scratch& s, NestCounts& out) const {
  const EinsumTensor& words = problem_->tensors[tensor];
  const std::size_t levels = chip_->levels.size();
  std::size_t outer = levels;  // the next level above that keeps the tensor
  for (std::size_t l = 0; l < levels; ++l) {
    TensorCounts& c = out.levels[l].tensors[tensor];
    c.kept = s.kept(l, tensor, problem_->tensors.size());
    c.reads = c.fills = c.updates = c.tile = c.partition = 0;
    if (!c.kept) continue;
    c.tile =
        tile_words(words, s.imperfect ? s.largest(s.loops_above(l, false), s.extents[l], s.last[l])
                                      : s.extents[l]);
    double share = 0, peers = 0;
    if (words.output && outer == levels) {
      c.partition = c.tile;
    } else if (words.output) {
      c.partition = std::floor(out.levels[outer].tensors[tensor].partition * c.tile /
                               united_words(words, outer, l, s));
    }
    if (outer != levels) {
      const LevelCounts& above = out.levels[l - 1];
      share = std::floor(received(above.tensors[tensor], above.fanout));
      peers = std::floor(above.tensors[tensor].link_transfers / real(above.fanout));
    }
    const double content = accesses_of(c);
    if (words.output) {
      // The first read of an element finds nothing: it is neither fetched nor read.
      c.updates = content;
      c.reads = content + peers - c.partition;
      c.fills = outer == levels ? 0 : share + peers - c.partition;
    } else {
      c.reads = content + peers;
      c.fills = share + peers;
    }
    outer = l;
  }
}

void TimeloopCounter::count(const Mapping& mapping, NestCounts& out) {
  static thread_local Scratch s;
  flatten(mapping, s, out);
  for (std::size_t t = 0; t < problem_->tensors.size(); ++t) {
    if (s.imperfect) {
      count_partial_deliveries(t, mapping, s, out);
    } else if (plain_[t] != 0 && !hops_ && mapping.unicast.empty()) {
      count_plain_deliveries(t, mapping, s, out);
    } else {
      count_deliveries(t, mapping, s, out);
    }
    pass_bypassed(t, s, out);
    count_accesses(t, s, out);
  }
}

}  // namespace orrery
