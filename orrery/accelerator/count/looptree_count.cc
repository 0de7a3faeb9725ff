#include "orrery/accelerator/count/looptree_count.h"

#include <algorithm>

namespace orrery {
namespace {

enum class Relevance { kNone, kPartial, kFull };

// Whether a dimension moves a tensor alone, in a sum with others, or not at all.
Relevance relevance(const EinsumTensor& tensor, const Einsum& einsum, int dim) {
  Relevance found = Relevance::kNone;
  for (const std::vector<IndexTerm>& rank : tensor.ranks) {
    bool here = false, others = false;
    for (const IndexTerm& term : rank) {
      if (term.dim == dim) {
        here = true;
      } else if (einsum.sizes[static_cast<std::size_t>(term.dim)] > 1) {
        others = true;
      }
    }
    if (here && !others) return Relevance::kFull;
    if (here) found = Relevance::kPartial;
  }
  return found;
}

bool axis_shares(const Chip& chip, const MappingNode& loop, const EinsumTensor& tensor) {
  const ArrayAxis& axis = chip.levels[static_cast<std::size_t>(loop.level)].array[loop.axis];
  if (!axis.shared) return true;
  return std::any_of(axis.shared->begin(), axis.shared->end(),
                     [&](const std::string& name) { return is_about(name, tensor); });
}

struct Accesses {
  double reads = 0, writes = 0, skipped_reads = 0, skipped_writes = 0;
  void scale(double n, double skipped) {
    reads *= n;
    writes *= n;
    skipped_reads *= skipped;
    skipped_writes *= skipped;
  }
};

struct Holder {
  int level = 0;
  double tile = 0;
  Accesses all, unit;
};

// Elements that cross between the outermost holder seen so far and the one outside of it.
struct Crossing {
  double fetched = 1, written = 0, skipped = 0;
};

class TensorNest {
 public:
  TensorNest(const Einsum& einsum, const Chip& chip, int tensor)
      : einsum_(einsum),
        chip_(chip),
        tensor_(tensor),
        about_(einsum.tensors[static_cast<std::size_t>(tensor)]),
        extents_(einsum.dims.size(), 1) {}

  void order(const Mapping& mapping, std::size_t fused);
  void walk();
  void append(std::vector<HolderCounts>& out) const;

 private:
  struct Placed {
    MappingNode node;
    bool fused = false;
  };
  bool own(const MappingNode& n) const { return n.hold() && n.index == tensor_; }
  Relevance moved_by(const MappingNode& n) const { return relevance(about_, einsum_, n.index); }
  void pass_time(const MappingNode& loop);
  void pass_space(const MappingNode& loop);
  void pass_holder(std::size_t at, bool outermost);
  double room(std::size_t at, bool outermost) const;

  const Einsum& einsum_;
  const Chip& chip_;
  int tensor_;
  const EinsumTensor& about_;
  std::vector<Placed> nest_;  // outermost first, with the holders of other tensors
  std::vector<std::int64_t> extents_;
  std::vector<Holder> holders_;  // innermost first
  Crossing crossing_;
};

void TensorNest::order(const Mapping& mapping, std::size_t fused) {
  const std::vector<MappingNode>& nodes = mapping.nodes;
  // Loops in space, behind the node that each follows; 0: before all nodes.
  std::vector<std::vector<MappingNode>> behind(nodes.size() + 1);
  for (const MappingNode& n : nodes) {
    if (!n.space()) continue;
    std::size_t place = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (own(nodes[i]) && nodes[i].level <= n.level) place = i + 1;
    }
    behind[place].push_back(n);
  }
  nest_.clear();
  for (const MappingNode& n : behind[0]) nest_.push_back({n, false});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].space()) nest_.push_back({nodes[i], i < fused});
    for (const MappingNode& n : behind[i + 1]) nest_.push_back({n, false});
  }
}

void TensorNest::pass_time(const MappingNode& loop) {
  const double n = real(loop.size);
  const double skipped = moved_by(loop) == Relevance::kFull ? n : 1;
  for (Holder& h : holders_) {
    h.all.scale(n, skipped);
    h.unit.scale(n, skipped);
  }
  crossing_.fetched *= n;
  crossing_.written *= n;
  crossing_.skipped *= skipped;
}

void TensorNest::pass_space(const MappingNode& loop) {
  const double n = real(loop.size);
  for (Holder& h : holders_) h.all.scale(n, n);
  if (moved_by(loop) == Relevance::kNone && axis_shares(chip_, loop, about_)) return;
  crossing_.fetched *= n;
  crossing_.written *= n;
  crossing_.skipped *= n;
}

// Elements of the tile that an instance holds at once: the loops in time that follow and move the
// whole of it are streamed through, down to and with the first that moves it in a sum.
double TensorNest::room(std::size_t at, bool outermost) const {
  std::vector<std::int64_t> extents = extents_;
  if (outermost || nest_[at].fused) return tile_words(about_, extents);
  for (std::size_t i = at + 1; i < nest_.size(); ++i) {
    const MappingNode& n = nest_[i].node;
    const Relevance moved = n.time() ? moved_by(n) : Relevance::kNone;
    if (moved == Relevance::kNone) break;
    extents[static_cast<std::size_t>(n.index)] /= n.size;
    if (moved == Relevance::kPartial) break;
  }
  return tile_words(about_, extents);
}

void TensorNest::pass_holder(std::size_t at, bool outermost) {
  const int level = nest_[at].node.level;
  Holder h;
  h.level = level;
  if (chip_.levels[static_cast<std::size_t>(level)].kind == StorageLevel::Kind::kToll) {
    h.all.reads = crossing_.fetched + crossing_.written;
    h.all.skipped_reads = crossing_.skipped;
    h.unit = h.all;
    holders_.push_back(h);
    return;
  }
  const double words = tile_words(about_, extents_);
  Crossing up;
  up.fetched = outermost ? 0 : words;
  up.written = outermost || !about_.output ? 0 : words;
  up.skipped = up.written;
  h.tile = room(at, outermost);
  h.all.reads = crossing_.fetched + up.written;
  h.all.skipped_reads = crossing_.skipped;
  h.all.writes = crossing_.written + up.fetched;
  h.all.skipped_writes = up.skipped;
  h.unit = h.all;
  holders_.push_back(h);
  crossing_ = up;
}

void TensorNest::walk() {
  holders_.clear();
  std::fill(extents_.begin(), extents_.end(), 1);
  crossing_ = {1, about_.output ? 1.0 : 0.0, about_.output ? 1.0 : 0.0};
  const auto outermost =
      std::find_if(nest_.begin(), nest_.end(), [&](const Placed& p) { return own(p.node); });
  for (std::size_t i = nest_.size(); i-- > 0;) {
    const MappingNode& n = nest_[i].node;
    if (own(n)) {
      pass_holder(i, nest_.begin() + static_cast<std::ptrdiff_t>(i) == outermost);
    } else if (!n.hold()) {
      n.time() ? pass_time(n) : pass_space(n);
      extents_[static_cast<std::size_t>(n.index)] *= n.size;
    }
  }
}

void TensorNest::append(std::vector<HolderCounts>& out) const {
  for (auto h = holders_.rbegin(); h != holders_.rend(); ++h) {
    out.push_back({h->level, tensor_, h->all.reads - h->all.skipped_reads,
                   h->all.writes - h->all.skipped_writes, h->unit.reads - h->unit.skipped_reads,
                   h->unit.writes - h->unit.skipped_writes, h->tile});
  }
}

}  // namespace

void count_looptree(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                    std::size_t fused, LooptreeCounts& out) {
  out.holders.clear();
  out.operations = einsum.points();
  out.steps = 1;
  for (const MappingNode& n : mapping.nodes) {
    if (n.time()) out.steps *= real(n.size);
  }
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    TensorNest nest(einsum, chip, static_cast<int>(t));
    nest.order(mapping, fused);
    nest.walk();
    nest.append(out.holders);
  }
}

double element_bits(const StorageLevel& level, const EinsumTensor& tensor) {
  double bits = tensor.bits;
  for (const TensorWidth& w : level.widths) {
    if (is_about(w.tensor, tensor)) bits *= w.factor;
  }
  return bits;
}

}  // namespace orrery
