#include "orrery/accelerator/sparse/sparse_count.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr double kSlack = 1e-9;  // of products that are whole but for rounding

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Extents of what stands inside of level `level`; 1 everywhere inside of the last one.
std::vector<std::int64_t> extents_from(const Einsum& problem, const Mapping& mapping, int level) {
  std::vector<std::int64_t> extents(problem.dims.size(), 1);
  for (const MappingNode& node : mapping.nodes) {
    if (!node.hold() && node.level >= level) extents[at(node.index)] *= node.size;
  }
  return extents;
}

// Probabilities, for each tensor, that its zeros leave out an access, by what did so.
struct Absence {
  std::vector<double> gone;   // compressed away or left out further out
  std::vector<double> gated;  // gated here or further out
  std::vector<double> skipped;
  explicit Absence(std::size_t tensors) : gone(tensors), gated(tensors), skipped(tensors) {}
};

// Probability that at least one tensor leaves an access out.
double any(const std::vector<double>& a) {
  double kept = 1;
  for (const double p : a) kept *= 1 - p;
  return 1 - kept;
}

std::vector<double> largest(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = std::max(a[i], b[i]);
  return out;
}

void raise(double& p, double to) { p = std::max(p, to); }

SparseAccesses split(double accesses, const Absence& a, bool partial_sums) {
  const std::vector<double> without_gates = largest(a.gone, a.skipped);
  const double gone = any(a.gone), left = any(without_gates);
  const double all = any(largest(without_gates, a.gated));
  const auto out = [&](double p) {
    return partial_sums ? accesses - std::floor(accesses * (1 - p) + kSlack)
                        : std::floor(accesses * p + kSlack);
  };
  SparseAccesses s;
  s.random = accesses - out(all);
  s.skipped = out(left) - out(gone);
  s.gated = out(all) - out(left);
  return s;
}

int inner_holder(const NestCounts& dense, int level, std::size_t tensor) {
  const int n = static_cast<int>(dense.levels.size());
  int inner = level + 1;
  while (inner < n && !dense.levels[at(inner)].tensors[tensor].kept) ++inner;
  return inner;
}

class SparseCounter {
 public:
  SparseCounter(const Einsum& problem, const Mapping& mapping, const NestCounts& dense,
                const SparseDesign& design)
      : problem_(problem), mapping_(mapping), dense_(dense), design_(design) {}

  SparseCounts count() {
    const std::size_t tensors = problem_.tensors.size();
    out_.made = out_.occupied = dense_;
    out_.levels.assign(dense_.levels.size(), std::vector<SparseTensorCounts>(tensors));
    Absence compute(tensors);
    for (std::size_t t = 0; t < tensors; ++t) count_tensor(t, compute);
    count_compute(compute);
    return std::move(out_);
  }

 private:
  void act(int level, std::size_t tensor, int inner, Absence& a) const {
    const std::vector<std::int64_t> extents = extents_from(problem_, mapping_, inner);
    for (const SparseAction& action : design_.actions) {
      const bool mine = action.level == level && (level == static_cast<int>(dense_.levels.size()) ||
                                                  at(action.target) == tensor);
      if (!mine) continue;
      for (const int c : action.conditions) {
        const double p = empty_probability(design_.densities[at(c)],
                                           tile_words(problem_.tensors[at(c)], extents));
        const bool skip = action.kind == SparseAction::Kind::kSkip;
        raise(skip ? a.skipped[at(c)] : a.gated[at(c)], p);
      }
    }
  }

  void count_tensor(std::size_t t, Absence& compute) {
    const int levels = static_cast<int>(dense_.levels.size());
    const double zeros = 1 - mean_density(design_.densities[t]);
    Absence above(problem_.tensors.size());  // of what the level above sends or takes
    for (int l = 0; l < levels; ++l) {
      const TensorCounts& d = dense_.levels[at(l)].tensors[t];
      if (!d.kept) continue;
      const int inner = inner_holder(dense_, l, t);
      const bool compressed = design_.compressed[at(l)][t];
      Absence fill = above, here = above;
      if (compressed) {
        raise(fill.gone[t], zeros);
        raise(here.gone[t], zeros);
      }
      // Accesses that a level further out left out are not there at all.
      here.gone = largest(here.gone, largest(above.gated, above.skipped));
      fill.gone = here.gone;
      std::fill(here.gated.begin(), here.gated.end(), 0.0);
      std::fill(here.skipped.begin(), here.skipped.end(), 0.0);
      fill.gated = here.gated;
      fill.skipped = here.skipped;
      act(l, t, inner, here);
      SparseTensorCounts& s = out_.levels[at(l)][t];
      const bool sums = problem_.tensors[t].output && any(here.skipped) + any(here.gated) > 0;
      s.reads = split(d.reads, here, sums);
      s.fills = split(d.fills, fill, false);
      s.updates = split(d.updates, here, false);
      s.tile = compressed ? std::ceil(d.tile * (1 - zeros) - kSlack) : d.tile;
      store(at(l), t);
      above = here;
      // Zeros that only this memory leaves out come back at a level without compression.
      if (compressed && inner < levels) above.gone[t] = 0;
    }
    // A compressed output saves no operation: its zeros are known only afterwards.
    if (problem_.tensors[t].output) above.gone[t] = 0;
    compute.gone = largest(compute.gone, largest(above.gone, largest(above.gated, above.skipped)));
  }

  void store(std::size_t l, std::size_t t) {
    const SparseTensorCounts& s = out_.levels[l][t];
    TensorCounts& made = out_.made.levels[l].tensors[t];
    TensorCounts& occupied = out_.occupied.levels[l].tensors[t];
    made.reads = s.reads.random;
    made.fills = s.fills.random;
    made.updates = s.updates.random;
    occupied.reads = s.reads.random + s.reads.gated;
    occupied.fills = s.fills.random + s.fills.gated;
    occupied.updates = s.updates.random + s.updates.gated;
    made.tile = occupied.tile = s.tile;
  }

  void count_compute(Absence& a) {
    const int levels = static_cast<int>(dense_.levels.size());
    act(levels, 0, levels, a);
    out_.computes = split(problem_.points(), a, false);
    const double taken = (out_.computes.random + out_.computes.gated) / problem_.points();
    const double steps = std::ceil(dense_.steps * taken - kSlack);
    out_.made.steps = out_.occupied.steps = std::max(1.0, steps);
  }

  const Einsum& problem_;
  const Mapping& mapping_;
  const NestCounts& dense_;
  const SparseDesign& design_;
  SparseCounts out_;
};

}  // namespace

SparseCounts sparse_counts(const Einsum& problem, const Mapping& mapping, const NestCounts& dense,
                           const SparseDesign& design) {
  return SparseCounter(problem, mapping, dense, design).count();
}

}  // namespace orrery
