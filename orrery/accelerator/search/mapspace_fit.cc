// Makes a drawn mapping fit the arrays and memories of a chip.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/accelerator/search/mapspace.h"

namespace orrery {
namespace {

std::size_t index_of(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// The nearest slot in time above `level` that prime `i` may take; -1: none.
int Mapspace::slot_outside(std::size_t i, int level) const {
  int found = -1;
  for (const int s : primes_[i].slots) {
    const Slot& slot = slots_[index_of(s)];
    if (slot.axis >= 0 || slot.level >= level) continue;
    if (found < 0 || slot.level > slots_[index_of(found)].level) found = s;
  }
  return found;
}

// Moves a prime out of the slots that `wanted` names to a slot in time above `level`. False: no
// prime can move.
template <class Wanted>
bool Mapspace::move_out(RandomStream& random, MappingChoice& choice, int level,
                        const Wanted& wanted) const {
  int chosen = -1, to = -1;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < primes_.size(); ++i) {
    if (!wanted(primes_[i], slots_[index_of(choice.place[i])])) continue;
    const int slot = slot_outside(i, level);
    if (slot < 0 || random.below(++seen) != 0) continue;
    chosen = static_cast<int>(i);
    to = slot;
  }
  if (chosen < 0) return false;
  choice.place[index_of(chosen)] = to;
  return true;
}

std::int64_t Mapspace::used(const MappingChoice& choice, std::size_t s) const {
  const std::size_t dims = problem_->dims.size();
  std::int64_t product = 1;
  for (std::size_t d = 0; d < dims; ++d) product *= fixed_[s * dims + d];
  for (std::size_t i = 0; i < primes_.size(); ++i) {
    if (index_of(choice.place[i]) == s) product *= primes_[i].value;
  }
  return product;
}

void Mapspace::fill(RandomStream& random, MappingChoice& choice) const {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].axis < 0) continue;
    for (std::int64_t product = used(choice, s);;) {
      int chosen = -1;
      std::uint64_t seen = 0;
      for (std::size_t i = 0; i < primes_.size(); ++i) {
        const std::vector<int>& allowed = primes_[i].slots;
        if (slots_[index_of(choice.place[i])].axis >= 0 ||
            product * primes_[i].value > slots_[s].most ||
            std::find(allowed.begin(), allowed.end(), static_cast<int>(s)) == allowed.end())
          continue;
        if (random.below(++seen) == 0) chosen = static_cast<int>(i);
      }
      if (chosen < 0) break;
      choice.place[index_of(chosen)] = static_cast<int>(s);
      product *= primes_[index_of(chosen)].value;
    }
  }
}

bool Mapspace::fit_arrays(RandomStream& random, MappingChoice& choice) const {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    const auto here = [&](const Prime&, const Slot& place) { return &place == &slot; };
    while (slot.axis >= 0 && used(choice, s) > slot.most) {
      if (!move_out(random, choice, slot.level + 1, here)) return false;
    }
  }
  return true;
}

bool Mapspace::fit(RandomStream& random, MappingChoice& choice) const {
  if (!fit_arrays(random, choice)) return false;
  const std::size_t dims = problem_->dims.size(), tensors = problem_->tensors.size();
  for (int l = static_cast<int>(chip_->levels.size()); l-- > 0;) {
    const StorageLevel& level = chip_->levels[index_of(l)];
    if (!level.words) continue;
    const double room = std::floor(*level.words / level.multiple_buffering);
    while (true) {
      std::array<std::int64_t, kMostEinsumDims> extents;
      extents.fill(1);
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (slots_[s].level < l) continue;
        for (std::size_t d = 0; d < dims; ++d) extents[d] *= fixed_[s * dims + d];
      }
      for (std::size_t i = 0; i < primes_.size(); ++i) {
        if (slots_[index_of(choice.place[i])].level >= l)
          extents[index_of(primes_[i].dim)] *= primes_[i].value;
      }
      double needed = 0;
      std::array<bool, kMostEinsumDims> matters{};  // dimensions of the tensors that it keeps
      for (std::size_t t = 0; t < tensors; ++t) {
        if (choice.keeps[index_of(l) * tensors + t] == 0) continue;
        const EinsumTensor& tensor = problem_->tensors[t];
        needed += tile_words(tensor, extents);
        for (const std::vector<IndexTerm>& rank : tensor.ranks) {
          for (const IndexTerm& term : rank) matters[index_of(term.dim)] = true;
        }
      }
      if (needed <= room) break;
      const auto inside = [&](const Prime& prime, const Slot& place) {
        return place.level >= l && matters[index_of(prime.dim)];
      };
      if (!move_out(random, choice, l, inside)) return false;
    }
  }
  return true;
}

}  // namespace orrery
