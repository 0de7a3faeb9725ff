#include "orrery/accelerator/sparse/fiber_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

struct RankNest {
  std::vector<NestLoop> loops;
  Extents covered;       // by the rank's first loop in the order of giving
  bool refused = false;  // the next loop is not among the rank's dimensions
};

const std::vector<int>* flattening(const RankStorage* rank, int dim) {
  if (rank == nullptr) return nullptr;
  for (const std::vector<int>& list : rank->flattened) {
    if (std::find(list.begin(), list.end(), dim) != list.end()) return &list;
  }
  return nullptr;
}

// Gives ranks to loops that stand in the order in which ranks are given.
class RankGiver {
 public:
  RankGiver(const TensorStorage& storage, std::vector<NestLoop> loops, Extents least)
      : storage_(storage), loops_(std::move(loops)), least_(std::move(least)) {}

  // Ranks innermost first. Whether loops are left over is in `left`.
  std::vector<RankNest> give(std::size_t from, bool& left) {
    const std::size_t count = storage_.metadata() ? storage_.ranks.size() : 1;
    std::vector<RankNest> given;
    for (std::size_t i = from; i < count; ++i) {
      const std::size_t r = storage_.inner_to_outer ? i : count - 1 - (i - from);
      RankNest nest = next(storage_.metadata() ? &storage_.ranks[r] : nullptr);
      // A rank that takes no loop stands outside of the others, as the convention has it.
      const bool outside = storage_.inner_to_outer || nest.refused;
      given.insert(outside ? given.end() : given.begin(), std::move(nest));
    }
    skip_single();
    left = at_ < loops_.size();
    return given;
  }

 private:
  void skip_single() {
    while (at_ < loops_.size() && loops_[at_].size <= 1) ++at_;
  }

  RankNest next(const RankStorage* rank) {
    skip_single();
    RankNest nest{{}, least_, false};
    if (at_ == loops_.size()) return nest;
    const std::vector<int>* list = flattening(rank, loops_[at_].dim);
    nest.refused = rank != nullptr && !rank->flattened.empty() && list == nullptr;
    if (nest.refused) return nest;
    nest.covered = loops_[at_].covered;
    nest.loops.push_back(loops_[at_++]);
    if (rank != nullptr && list == nullptr) return nest;
    for (; at_ < loops_.size(); ++at_) {
      const NestLoop& loop = loops_[at_];
      if (loop.size <= 1) continue;
      if (list != nullptr && std::find(list->begin(), list->end(), loop.dim) == list->end()) break;
      nest.loops.push_back(loop);
    }
    return nest;
  }

  const TensorStorage& storage_;
  std::vector<NestLoop> loops_;
  Extents least_;
  std::size_t at_ = 0;
};

double coordinates(const EinsumTensor& tensor, const std::vector<NestLoop>& loops,
                   std::size_t dims) {
  Extents extents(dims, 1);
  for (const NestLoop& loop : loops) extents[index(loop.dim)] *= loop.size;
  return tile_words(tensor, extents);
}

[[noreturn]] void no_ranks(const Einsum& problem, const Chip& chip, int level, int tensor,
                           const char* why) {
  throw Infeasible(fmt::format("{}: {}: {}", chip.levels[index(level)].name,
                               problem.tensors[index(tensor)].name, why));
}

RankUnits units_of(RankFormat format, double fibers, double shape, double full, double filled) {
  const double some = full * shape * filled;
  switch (format) {
    case RankFormat::kUncompressed:
      break;
    case RankFormat::kUncompressedBitmask:
      return {fibers * shape, fibers * shape};
    case RankFormat::kOffsetPairs:
      return {0, full * (shape + 1)};
    case RankFormat::kBitmask:
      return {full * shape, full * std::ceil(shape * filled)};
    case RankFormat::kCoordinates:
      return {full * std::ceil(shape * filled), full * std::ceil(shape * filled)};
    case RankFormat::kRunLength:
      return {some, some};
  }
  return {};
}

}  // namespace

std::vector<FiberTree> fiber_trees(const Einsum& problem, const Chip& chip, const SparseNest& nest,
                                   const SparseDesign& design, int tensor) {
  const auto t = static_cast<std::size_t>(tensor);
  const EinsumTensor& words = problem.tensors[t];
  const std::size_t dims = problem.dims.size();
  std::vector<FiberTree> trees(static_cast<std::size_t>(nest.count()));
  for (int level = nest.count() - 1; level >= 0; --level) {
    const auto l = static_cast<std::size_t>(level);
    if (!nest.kept[l][t]) continue;
    const TensorStorage& storage = design.storage[l][t];
    const int child = nest.child(level, tensor);
    const bool inner = child < nest.count();
    const auto c = static_cast<std::size_t>(child);
    const bool divided = storage.compressed() && inner && tile_words(words, nest.tile(child)) > 1;
    const std::size_t from = divided ? trees[c].shape.size() : 0;
    if (divided && from > storage.ranks.size()) {
      no_ranks(problem, chip, level, tensor, "has fewer ranks than the memory it feeds");
    }
    if (divided && design.storage[c][t].compressed()) {
      for (std::size_t r = 0; r < from; ++r) {
        if (storage.ranks[r].format != design.storage[c][t].ranks[r].format) {
          no_ranks(problem, chip, level, tensor, "has other formats than the memory it feeds");
        }
      }
    }
    std::vector<NestLoop> loops;  // innermost first
    for (std::size_t m = inner ? c : nest.levels.size(); m-- > l;) {
      for (const NestLoop& loop : nest.levels[m]) {
        if (uses(words, loop.dim)) loops.push_back(loop);
      }
    }
    if (!divided && inner) {  // a tile that is not divided spans what stands inside of it
      Extents rest = nest.tile(child);
      for (NestLoop& loop : loops) {
        loop.size *= rest[index(loop.dim)];
        rest[index(loop.dim)] = 1;
      }
    }
    const Extents least = loops.empty() ? Extents(dims, 1) : loops.front().covered;
    if (!storage.inner_to_outer) std::reverse(loops.begin(), loops.end());
    bool left = false;
    const std::vector<RankNest> ranks = RankGiver(storage, loops, least).give(from, left);
    if (left) no_ranks(problem, chip, level, tensor, "has fewer ranks than its loops need");
    FiberTree& tree = trees[l];
    if (divided) {
      tree = trees[c];
    } else {
      tree.subtiles = {Extents(dims, 1)};
    }
    for (const RankNest& rank : ranks) {
      tree.shape.push_back(coordinates(words, rank.loops, dims));
      tree.subtiles.push_back(rank.covered);
    }
  }
  return trees;
}

std::vector<RankUnits> rank_units(const EinsumTensor& tensor, const TensorStorage& storage,
                                  const FiberTree& tree, const Density& density,
                                  const Known& known) {
  std::vector<RankUnits> units(storage.ranks.size());
  double fibers = 1;
  double filled_above = known.nonzeros > 0 ? 1 : 0;
  if (density.kind == Density::Kind::kFixedStructured || density.kind == Density::Kind::kMeasured) {
    filled_above = 1 - empty_probability(density, Tile{known.words, 0, 0});
  }
  for (std::size_t r = units.size(); r-- > 0;) {
    const double filled = 1 - empty_probability(density, tile_of(tensor, tree.subtiles[r]), &known);
    if (tree.shape[r] > 1) {
      units[r] =
          units_of(storage.ranks[r].format, fibers, tree.shape[r], fibers * filled_above, filled);
      if (r == 0) units[r].payload = 0;
    }
    fibers *= tree.shape[r];
    filled_above = filled;
  }
  return units;
}

TileContents tile_contents(const EinsumTensor& tensor, const TensorStorage& storage,
                           const FiberTree& tree, const Density& density, const Extents& tile,
                           bool seen) {
  TileContents out;
  out.ranks.resize(storage.ranks.size());
  const Tile whole = tile_of(tensor, tile);
  const std::vector<Occupancy> law = occupancies(density, whole);
  const double empty = seen && law.front().nonzeros == 0 ? law.front().probability : 0;
  out.held = 1 - empty;
  for (const Occupancy& o : law) {
    if (o.probability == 0 || (empty > 0 && o.nonzeros == 0)) continue;
    const double p = o.probability / (1 - empty);
    out.words += p * o.nonzeros;
    if (storage.ranks.empty()) continue;
    const std::vector<RankUnits> units =
        rank_units(tensor, storage, tree, density, {whole.words, o.nonzeros});
    for (std::size_t r = 0; r < units.size(); ++r) {
      out.ranks[r].metadata += p * units[r].metadata;
      out.ranks[r].payload += p * units[r].payload;
    }
  }
  return out;
}

}  // namespace orrery
