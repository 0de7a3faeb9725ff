#include "orrery/accelerator/count/timeloop_count.h"

#include <algorithm>

#include "orrery/accelerator/count/boundary.h"

namespace orrery {
namespace {

// Extent of each dimension, by which a tensor's tile is measured.
using Extents = std::vector<std::int64_t>;

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

}  // namespace

struct TimeloopCounter::Scratch {
  struct Flat {
    MappingNode loop;
    std::int64_t stride;  // of an iteration, in elements of the dimension
  };
  std::vector<Flat> loops;       // of more than one iteration, outermost first
  std::vector<Extents> extents;  // of the tile of each level, and of a point
  std::vector<MovingLoop> time, space;
  std::vector<char> keeps;  // of each level and tensor
  BoundaryCounter counter;
  BoundaryCounts counts;
};

void TimeloopCounter::count(const Mapping& mapping, NestCounts& out) {
  static thread_local Scratch s;
  const Einsum& problem = *problem_;
  const std::size_t levels = chip_->levels.size(), tensors = problem.tensors.size();
  s.loops.clear();
  s.keeps.assign(levels * tensors, 0);
  for (const MappingNode& node : mapping.nodes) {
    const auto level = static_cast<std::size_t>(node.level);
    if (node.hold()) {
      s.keeps[level * tensors + static_cast<std::size_t>(node.index)] = 1;
    } else if (node.size > 1) {
      s.loops.push_back({node, 1});
    }
  }
  s.extents.resize(levels + 1);
  for (Extents& e : s.extents) e.assign(problem.sizes.size(), 1);
  out.levels.resize(levels);
  for (LevelCounts& level : out.levels) {
    level.instances = level.fanout = 1;
    level.tensors.resize(tensors);
  }
  out.steps = 1;
  for (std::size_t i = s.loops.size(); i-- > 0;) {
    Scratch::Flat& f = s.loops[i];
    const auto dim = static_cast<std::size_t>(f.loop.index);
    const auto level = static_cast<std::size_t>(f.loop.level);
    // The tiles of this level and of those above it cover the loop.
    f.stride = s.extents[0][dim];
    for (std::size_t l = 0; l <= level; ++l) s.extents[l][dim] *= f.loop.size;
    if (f.loop.time()) {
      out.steps *= real(f.loop.size);
    } else {
      out.levels[level].fanout *= f.loop.size;
    }
  }
  for (std::size_t l = 1; l < levels; ++l) {
    out.levels[l].instances = out.levels[l - 1].instances * out.levels[l - 1].fanout;
  }
  out.compute_units = out.levels.back().instances * out.levels.back().fanout;

  for (std::size_t t = 0; t < tensors; ++t) {
    const EinsumTensor& tensor = problem.tensors[t];
    const auto moving = [&](const Scratch::Flat& f) {
      MovingLoop m{f.loop.size, f.loop.time() ? -1 : f.loop.axis, {}};
      for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
        for (const IndexTerm& term : tensor.ranks[r]) {
          if (term.dim == f.loop.index) m.offset[r] += term.coefficient * f.stride;
        }
      }
      return m;
    };
    s.time.clear();
    std::size_t next = 0;
    for (std::size_t l = 0; l < levels; ++l) {
      s.space.clear();
      for (; next < s.loops.size() && s.loops[next].loop.level == static_cast<int>(l); ++next) {
        (s.loops[next].loop.time() ? s.time : s.space).push_back(moving(s.loops[next]));
      }
      Boundary b;
      b.time = s.time;
      b.space = s.space;
      b.tile = tile_of(tensor, s.extents[l + 1]);
      b.ranks = static_cast<int>(tensor.ranks.size());
      b.compute = l + 1 == levels;
      const std::pair<int, int> here{static_cast<int>(l), static_cast<int>(t)};
      b.no_multicast =
          std::find(mapping.unicast.begin(), mapping.unicast.end(), here) != mapping.unicast.end();
      const StorageLevel& level = chip_->levels[l];
      b.hops = level.hop_energy > 0 || level.router_energy > 0;
      if (!level.array.empty()) b.columns = level.array[0].size;
      if (level.array.size() > 1) b.rows = level.array[1].size;
      s.counter.count(b, s.counts);
      TensorCounts& c = out.levels[l].tensors[t];
      c.deliveries.assign(s.counts.deliveries.begin(), s.counts.deliveries.end());
      c.link_transfers = s.counts.link_transfers;
    }

    // A level that does not keep the tensor passes on what the level above sends: the level above
    // sends as much as is asked of this one.
    for (std::size_t l = levels; l-- > 1;) {
      if (s.keeps[l * tensors + t] != 0) continue;
      TensorCounts& above = out.levels[l - 1].tensors[t];
      const double sent = received(above, out.levels[l - 1].fanout);
      const double factor = sent > 0 ? accesses_of(out.levels[l].tensors[t]) / sent : 0;
      for (Delivery& d : above.deliveries) d.accesses *= factor;
      above.link_transfers = 0;
    }

    std::size_t outer = levels;  // the next level above that keeps the tensor
    for (std::size_t l = 0; l < levels; ++l) {
      TensorCounts& c = out.levels[l].tensors[t];
      c.kept = s.keeps[l * tensors + t] != 0;
      c.reads = c.fills = c.updates = c.tile = c.partition = 0;
      if (!c.kept) continue;
      c.tile = tile_words(tensor, s.extents[l]);
      double share = 0, peers = 0;
      if (outer == levels) {
        c.partition = c.tile;
      } else {
        // The tensor is divided among the instances below the outer level, tiles that overlap too.
        Extents all = s.extents[l];
        for (const Scratch::Flat& f : s.loops) {
          const auto level = static_cast<std::size_t>(f.loop.level);
          if (f.loop.space() && level >= outer && level < l) {
            all[static_cast<std::size_t>(f.loop.index)] *= f.loop.size;
          }
        }
        c.partition = out.levels[outer].tensors[t].partition * c.tile / tile_words(tensor, all);
        const LevelCounts& above = out.levels[l - 1];
        share = received(above.tensors[t], above.fanout);
        peers = above.tensors[t].link_transfers / real(above.fanout);
      }
      const double content = accesses_of(c);
      if (tensor.output) {
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
}

}  // namespace orrery
