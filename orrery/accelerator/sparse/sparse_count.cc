#include "orrery/accelerator/sparse/sparse_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orrery/accelerator/sparse/fiber_tree.h"
#include "orrery/accelerator/sparse/skip_probability.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

using Units = std::vector<RankUnits>;  // by rank, innermost first

void leave_out(double& made, double p) { made -= std::floor(made * p); }

Units times(const Units& units, double ratio) {
  Units out = units;
  for (RankUnits& u : out) {
    u = {std::ceil(u.metadata * ratio), std::ceil(u.payload * ratio)};
  }
  return out;
}

double bits_of(const Units& units, const TensorStorage& storage) {
  double bits = 0;
  for (std::size_t r = 0; r < units.size(); ++r) {
    bits += units[r].metadata * storage.ranks[r].metadata_bits +
            units[r].payload * storage.ranks[r].payload_bits;
  }
  return bits;
}

// Accesses of a tensor at a level before the level's own action.
struct Traffic {
  double reads = 0, fills = 0, updates = 0;
  Units metadata_reads, metadata_fills, metadata_updates;
};

// An action that leaves out accesses of a tensor at a level.
struct Omission {
  bool here = false;
  SparseAction::Kind kind = SparseAction::Kind::kGate;
  double p = 0;
};

// Tile sizes, in blocks, from which on the mean number of blocks is taken as words / block, by
// density in tenths. Source: src/model/buffer.hpp of timeloop-model.
const std::map<int, std::array<double, 10>>& block_thresholds() {
  static const std::map<int, std::array<double, 10>> table = {
      {2, {251, 125, 84, 63, 51, 42, 36, 32, 28, 1}},
      {4, {375, 188, 125, 94, 75, 63, 54, 47, 42, 1}},
      {8, {438, 219, 146, 110, 88, 73, 63, 55, 49, 1}},
      {16, {469, 235, 157, 118, 94, 79, 67, 59, 52, 1}},
      {32, {485, 243, 162, 122, 97, 81, 70, 61, 52, 1}}};
  return table;
}

double blocking(const Density& density, const Tile& tile, double share, int block) {
  if (block <= 1 || share >= 1 || share <= 0) return 1;
  const auto row = block_thresholds().find(block);
  if (row != block_thresholds().end()) {
    const double tenth = share >= 0.1 ? std::floor(share / 0.1) - 1 : 0;
    const double threshold = row->second[static_cast<std::size_t>(std::clamp(tenth, 0.0, 9.0))];
    if (threshold <= std::floor(tile.words / block)) return 1;
  }
  double blocks = 0;
  for (const Occupancy& o : occupancies(density, tile)) {
    blocks += o.probability * std::ceil(o.nonzeros / block);
  }
  return blocks / (tile.words * share / block);
}

class SparseCounter {
 public:
  SparseCounter(const Einsum& problem, const Chip& chip, const Mapping& mapping,
                const NestCounts& dense, const SparseDesign& design)
      : problem_(problem),
        chip_(chip),
        dense_(dense),
        design_(design),
        nest_(sparse_nest(problem, chip, mapping, design.orders)) {}

  SparseCounts count() {
    const std::size_t tensors = problem_.tensors.size(), levels = nest_.levels.size();
    out_.occupied = dense_;
    out_.levels.assign(levels, std::vector<SparseTensorCounts>(tensors));
    traffic_.assign(levels, std::vector<Traffic>(tensors));
    contents_.assign(levels, std::vector<TileContents>(tensors));
    omissions_.assign(levels, std::vector<Omission>(tensors));
    left_out_.assign(tensors, 0);
    computes_ = operations();
    for (std::size_t t = 0; t < tensors; ++t) store_tensor(static_cast<int>(t));
    for (const SparseAction::Kind kind : {SparseAction::Kind::kGate, SparseAction::Kind::kSkip}) {
      for (int l = nest_.count() - 1; l >= 0; --l) {
        for (const SparseAction& a : design_.actions) {
          if (a.kind == kind && a.level == l) place(a);
        }
      }
    }
    for (std::size_t t = 0; t < tensors; ++t) omit(static_cast<int>(t));
    for (std::size_t l = 0; l < levels; ++l) {
      for (std::size_t t = 0; t < tensors; ++t) convert(static_cast<int>(l), t);
    }
    count_computes();
    for (std::size_t l = 0; l < levels; ++l) occupy(l);
    return std::move(out_);
  }

 private:
  void store_tensor(int tensor) {
    const std::size_t t = slot(tensor);
    const EinsumTensor& words = problem_.tensors[t];
    const Density& density = design_.densities[t];
    const std::vector<FiberTree> trees = fiber_trees(problem_, chip_, nest_, design_, tensor);
    for (std::size_t l = 0; l < nest_.levels.size(); ++l) {
      if (!nest_.kept[l][t]) continue;
      const int level = static_cast<int>(l), parent = nest_.parent(level, tensor);
      const TensorStorage& storage = design_.storage[l][t];
      const Extents& extents = nest_.tile(level);
      const Tile tile = tile_of(words, extents);
      const bool seen = parent >= 0 && design_.storage[slot(parent)][t].metadata();
      TileContents& inside = contents_[l][t];
      inside = tile_contents(words, storage, trees[l], density, extents, seen);
      SparseTensorCounts& s = out_.levels[l][t];
      s.density = std::min(1.0, inside.words / tile.words);
      s.held = inside.held;
      s.tile = storage.compressed() ? most_nonzeros(density, tile) : tile.words;
      if (storage.metadata()) {
        const Known most{tile.words, most_nonzeros(density, tile)};
        s.metadata_bits =
            std::ceil(bits_of(rank_units(words, storage, trees[l], density, most), storage));
      }
      if (storage.compressed()) {
        s.blocking = blocking(density, tile, s.density, chip_.levels[l].block);
      }
      const TensorCounts& d = dense_.levels[l].tensors[t];
      Traffic& x = traffic_[l][t];
      x = {d.reads, d.fills, d.updates, {}, {}, {}};
      if (!storage.metadata()) continue;
      leave_out(x.reads, 1 - s.density);
      leave_out(x.fills, 1 - s.density);
      leave_out(x.updates, 1 - s.density);
      x.metadata_reads = times(inside.ranks, d.reads / tile.words);
      x.metadata_fills = times(inside.ranks, d.fills / tile.words);
      x.metadata_updates = times(inside.ranks, d.updates / tile.words);
    }
  }

  int target_level(int level, int tensor) const {
    while (level >= 0 && !nest_.kept[slot(level)][slot(tensor)]) --level;
    return level;
  }

  // Words of data and metadata that an access of the target is expected to move.
  double moved(int level, int tensor) const {
    const int child = nest_.child(level, tensor);
    const int source = child == nest_.count() ? level : child;
    double metadata = 0;
    for (const RankUnits& u : contents_[slot(source)][slot(tensor)].ranks) {
      metadata += u.metadata + u.payload;
    }
    const double ratio = design_.metadata.empty()
                             ? 0
                             : std::floor(design_.metadata[slot(level)].word_bits /
                                          chip_.levels[slot(level)].word_bits);
    return contents_[slot(level)][slot(tensor)].words + metadata * ratio;
  }

  void place(const SparseAction& action) {
    double most = 0, p = 0;
    int tensor = 0, level = 0;
    for (const SparseOption& option : action.options) {
      const int l = target_level(action.level, option.target);
      if (l < 0) {
        throw Infeasible(fmt::format(
            "{}: an action on {}, which no memory here or outside of it keeps",
            chip_.levels[slot(action.level)].name, problem_.tensors[slot(option.target)].name));
      }
      const double q = skip_probability(problem_, chip_, nest_, design_, l, option);
      const double cost = design_.energies.empty() ? 1 : design_.energies[slot(l)].read.random;
      const double saved = cost / chip_.levels[slot(l)].block * moved(l, option.target) * q;
      if (saved < most) continue;
      most = saved;
      p = q;
      tensor = option.target;
      level = l;
    }
    if (action.options.empty()) return;
    Omission& o = omissions_[slot(level)][slot(tensor)];
    if (!o.here || o.p < p) o = {true, action.kind, p};
  }

  // Applies a tensor's actions from the outside in.
  void omit(int tensor) {
    const std::size_t t = slot(tensor);
    std::vector<bool> done(nest_.levels.size());
    for (int l = 0; l < nest_.count(); ++l) {
      const Omission& o = omissions_[slot(l)][t];
      if (!o.here) continue;
      int m = l + 1;
      for (; m < nest_.count(); ++m) {
        pass(traffic_[slot(l)][t], o.p, traffic_[slot(m)][t]);
        const Omission& inner = omissions_[slot(m)][t];
        if (!inner.here) continue;
        // The convention takes the updates of metadata for its reads here.
        traffic_[slot(m)][t].metadata_reads = traffic_[slot(m)][t].metadata_updates;
        const double rest = o.p < 1 ? std::max(0.0, 1 - (1 - inner.p) / (1 - o.p)) : 0;
        leave_out_here(m, t, inner.kind, rest);
        done[slot(m)] = true;
        break;
      }
      if (!done[slot(l)]) leave_out_here(l, t, o.kind, o.p);
      done[slot(l)] = true;
      if (m == nest_.count() && !problem_.tensors[t].output) {
        leave_out(computes_, o.p);
        left_out_[t] = std::round(o.p * 1e6) / 1e6;
      }
    }
    for (int l = 0; l < nest_.count(); ++l) {
      if (!done[slot(l)]) leave_out_here(l, t, SparseAction::Kind::kGate, 0);
    }
  }

  // Accesses inside that an action outside leaves. Only metadata of a single rank shrinks.
  static void pass(const Traffic& outside, double p, Traffic& inside) {
    leave_out(inside.fills, p);
    leave_out(inside.reads, p);
    leave_out(inside.updates, p);
    if (outside.metadata_reads.size() != 1) return;
    for (Units* units : {&inside.metadata_fills, &inside.metadata_reads}) {
      if (units->empty()) continue;
      leave_out(units->front().metadata, p);
      leave_out(units->front().payload, p);
    }
  }

  void leave_out_here(int level, std::size_t t, SparseAction::Kind kind, double p) {
    const Traffic& x = traffic_[slot(level)][t];
    SparseTensorCounts& s = out_.levels[slot(level)][t];
    const bool gate = kind == SparseAction::Kind::kGate;
    const auto split = [&](double words, double out) {
      SparseAccesses a;
      a.random = words - out;
      (gate ? a.gated : a.skipped) = out;
      return a;
    };
    const double reads = x.reads * p;
    const bool output = problem_.tensors[t].output;
    s.reads = split(x.reads, output ? std::min(x.reads, std::ceil(reads)) : std::floor(reads));
    s.updates = split(x.updates, std::floor(x.updates * p));
    s.fills = {x.fills, 0, 0};
    const TensorStorage& storage = design_.storage[slot(level)][t];
    if (!storage.metadata()) return;
    // Ranks that go to the level inside; all of them where compute matches the operands.
    const int child = nest_.child(level, static_cast<int>(t));
    const std::size_t ranks = child == nest_.count() ? storage.ranks.size()
                                                     : design_.storage[slot(child)][t].ranks.size();
    const auto split_bits = [&](const Units& units) {
      Units out(units.size());
      for (std::size_t r = 0; r < std::min(ranks, units.size()); ++r) {
        out[r] = {std::floor(units[r].metadata * p), std::floor(units[r].payload * p)};
      }
      return split(bits_of(units, storage), bits_of(out, storage));
    };
    s.metadata_reads = split_bits(x.metadata_reads);
    s.metadata_updates = split_bits(x.metadata_updates);
    s.metadata_fills = {bits_of(x.metadata_fills, storage), 0, 0};
  }

  // Words that a memory without compression unpacks from and packs for the compressed one outside.
  void convert(int level, std::size_t t) {
    const int parent = nest_.parent(level, static_cast<int>(t));
    if (!nest_.kept[slot(level)][t] || parent < 0) return;
    if (design_.storage[slot(level)][t].compressed()) return;
    if (!design_.storage[slot(parent)][t].compressed()) return;
    SparseTensorCounts& s = out_.levels[slot(level)][t];
    s.decompressions = s.fills.random;
    if (problem_.tensors[t].output) s.compressions = out_.levels[slot(parent)][t].updates.random;
  }

  bool stored_with_metadata(std::size_t t) const {
    const int innermost = nest_.parent(nest_.count(), static_cast<int>(t));
    return innermost >= 0 && design_.storage[slot(innermost)][t].metadata();
  }

  // The operations of the dense mapping, imperfect factors counted as by the convention.
  double operations() const { return dense_.steps * dense_.active_units; }

  void count_computes() {
    double all_there = 1, all_set = 1, none_there = 1;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      if (problem_.tensors[t].output) continue;
      double set = std::round(mean_density(design_.densities[t]) * 1e6) / 1e6;
      for (std::size_t other = 0; other < problem_.tensors.size(); ++other) {
        if (other != t && left_out_[other] < 1) set /= 1 - left_out_[other];
      }
      set = std::clamp(set, 0.0, 1.0);
      const double there = stored_with_metadata(t) ? set : 1;
      all_set *= set;
      all_there *= there;
      none_there *= 1 - there;
    }
    const double zero = computes_ * (all_there - all_set);
    const double missing = computes_ * (1 - all_there - none_there);
    double gated = design_.gate_compute ? zero : 0, skipped = 0;
    if (design_.skip_compute) {
      skipped = missing;
    } else if (design_.gate_compute) {
      gated += missing;
    }
    SparseAccesses& c = out_.computes;
    c.gated = std::floor(gated);
    c.skipped = std::floor(skipped);
    c.random = computes_ - c.gated - c.skipped - std::floor(computes_ * none_there);
    const double taken = (c.random + c.gated) / operations();
    out_.occupied.steps = std::max(1.0, std::ceil(dense_.steps * taken));
  }

  void occupy(std::size_t l) {
    const double word = chip_.levels[l].word_bits;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const SparseTensorCounts& s = out_.levels[l][t];
      TensorCounts& o = out_.occupied.levels[l].tensors[t];
      o.tile = s.tile;
      o.reads = s.reads.random + s.reads.gated +
                std::floor((s.metadata_reads.random + s.metadata_reads.gated) / word);
      o.fills = s.fills.random;
      o.updates = s.updates.random + s.updates.gated +
                  std::floor((s.metadata_fills.random + s.metadata_updates.random +
                              s.metadata_updates.gated) /
                             word);
    }
  }

  const Einsum& problem_;
  const Chip& chip_;
  const NestCounts& dense_;
  const SparseDesign& design_;
  SparseNest nest_;
  std::vector<std::vector<Traffic>> traffic_;
  std::vector<std::vector<TileContents>> contents_;
  std::vector<std::vector<Omission>> omissions_;
  std::vector<double> left_out_;  // by the innermost action on each operand
  double computes_ = 0;
  SparseCounts out_;
};

}  // namespace

SparseCounts sparse_counts(const Einsum& problem, const Chip& chip, const Mapping& mapping,
                           const NestCounts& dense, const SparseDesign& design) {
  return SparseCounter(problem, chip, mapping, dense, design).count();
}

std::vector<std::string> metadata_violations(const Chip& chip, const SparseDesign& design,
                                             const SparseCounts& counts) {
  std::vector<std::string> out;
  for (std::size_t l = 0; l < counts.levels.size() && l < design.metadata.size(); ++l) {
    double needed = 0;
    for (const SparseTensorCounts& s : counts.levels[l]) needed += s.metadata_bits;
    if (needed > design.metadata[l].bits) {
      out.push_back(fmt::format("{}: metadata takes {:.0f} bits; an instance has {:.0f}",
                                chip.levels[l].name, needed, design.metadata[l].bits));
    }
  }
  return out;
}

}  // namespace orrery
