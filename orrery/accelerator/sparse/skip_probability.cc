#include "orrery/accelerator/sparse/skip_probability.h"

#include <cmath>
#include <map>

namespace orrery {
namespace {

// The loop that ends the stay of the target's tile, and what an access of the target serves.
struct Stay {
  int level = 0;
  std::size_t loop = 0;
  bool word = false;  // the target goes to compute below a loop in time: one word
  Extents covered;
  std::vector<NestLoop> around;  // the loop, and the loops outside of it that the stay lasts
};

class StayFinder {
 public:
  StayFinder(const Einsum& problem, const SparseNest& nest, int level, int target)
      : problem_(problem),
        nest_(nest),
        level_(level),
        target_(problem.tensors[slot(target)]),
        child_(nest.child(level, target)),
        to_compute_(child_ == nest.count()) {}

  Stay find() {
    Stay stay;
    if (!find_loop(stay)) {
      stay.level = level_;
      stay.loop = nest_.levels[slot(level_)].size() - 1;
      stay.word = false;
    }
    const NestLoop& loop = nest_.levels[slot(stay.level)][stay.loop];
    stay.covered = stay.word ? Extents(problem_.dims.size(), 1) : loop.covered;
    stay.around.push_back(loop);
    extend(stay);
    return stay;
  }

 private:
  bool moves(const NestLoop& loop) const { return loop.size > 1 && uses(target_, loop.dim); }

  bool find_loop(Stay& stay) const {
    for (int l = child_ - 1; l >= level_; --l) {
      const std::vector<NestLoop>& loops = nest_.levels[slot(l)];
      for (std::size_t i = 0; i < loops.size(); ++i) {
        bool ends = moves(loops[i]);
        if (to_compute_) {
          const bool last_in_space = i + 1 >= loops.size() || !loops[i + 1].space;
          if (last_in_space) stay.word = !loops[i].space;
          ends = ends || last_in_space;
          if (!last_in_space) stay.word = false;
        }
        if (!ends) continue;
        stay.level = l;
        stay.loop = i;
        return true;
      }
    }
    return false;
  }

  // Loops outside of the one found during which the target's tile stays.
  void extend(Stay& stay) const {
    const bool in_space = stay.around.front().space;
    bool over = !in_space;  // whether the loop in time that ends the stay is found
    for (int l = stay.level; l >= level_; --l) {
      const std::vector<NestLoop>& loops = nest_.levels[slot(l)];
      for (std::size_t i = l == stay.level ? stay.loop + 1 : 0; i < loops.size(); ++i) {
        const NestLoop& loop = loops[i];
        if (loop.size <= 1) continue;
        const bool idle = !over && !loop.space && !to_compute_ && !uses(target_, loop.dim);
        if (loop.space || idle) stay.around.push_back(loop);
        if (!loop.space && (to_compute_ || uses(target_, loop.dim))) over = true;
      }
    }
  }

  const Einsum& problem_;
  const SparseNest& nest_;
  int level_;
  const EinsumTensor& target_;
  int child_;
  bool to_compute_;
};

// The loops of the stay that move both tensors. False: the condition cannot be followed.
bool shared_loops(const Stay& stay, const EinsumTensor& target, const EinsumTensor& condition,
                  std::map<int, double>& factors) {
  if (stay.word) return true;
  bool shared = false;
  for (const NestLoop& loop : stay.around) {
    if (stay.around.front().space && shared && uses(condition, loop.dim)) return false;
    if (!uses(target, loop.dim) || !uses(condition, loop.dim)) continue;
    const auto factor = factors.try_emplace(loop.dim, 1).first;
    factor->second *= real(loop.size);
    shared = true;
  }
  return true;
}

}  // namespace

double skip_probability(const Einsum& problem, const Chip& chip, const SparseNest& nest,
                        const SparseDesign& design, int level, const SparseOption& option) {
  const EinsumTensor& target = problem.tensors[slot(option.target)];
  const Stay stay = StayFinder(problem, nest, level, option.target).find();
  Extents around = stay.covered;
  for (std::size_t i = 1; i < stay.around.size(); ++i) {
    around[slot(stay.around[i].dim)] *= stay.around[i].size;
  }
  double needed = 1;
  for (const int c : option.conditions) {
    const EinsumTensor& condition = problem.tensors[slot(c)];
    std::map<int, double> factors;
    if (!shared_loops(stay, target, condition, factors)) continue;
    double all = 1;
    for (const auto& [dim, factor] : factors) all *= factor;
    // Iterations that fill a block of the target's memory.
    double filling =
        std::ceil(chip.levels[slot(level)].block / (tile_words(target, stay.covered) / all));
    Extents tile = around;
    for (const auto& [dim, factor] : factors) {
      const double divisor = factor / filling;
      tile[slot(dim)] = static_cast<std::int64_t>(std::ceil(real(tile[slot(dim)]) / divisor));
      filling /= factor;
    }
    if (filling > 1) {
      std::int64_t& extent = tile[slot(stay.around.front().dim)];
      extent = static_cast<std::int64_t>(real(extent) * filling);
    }
    needed *= 1 - empty_probability(design.densities[slot(c)], tile_of(condition, tile));
  }
  return 1 - needed;
}

}  // namespace orrery
