#include "orrery/accelerator/search/mapspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestMessage = 400;  // it quotes names of the input

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

MapspaceConstraints unconstrained(const Einsum& problem, const Chip& chip) {
  LoopConstraint free;
  free.factors.resize(problem.dims.size());
  free.most.resize(problem.dims.size());
  MapspaceConstraints all(chip.levels.size());
  for (std::size_t l = 0; l < all.size(); ++l) {
    all[l].time = free;
    all[l].space.assign(std::max<std::size_t>(2, chip.levels[l].array.size()), free);
    const bool memory = chip.levels[l].kind == StorageLevel::Kind::kMemory;
    all[l].keeps.assign(problem.tensors.size(), memory);
  }
  return all;
}

MapspaceConstraints chip_constraints(const Einsum& problem, const Chip& chip) {
  const auto named = [](const std::vector<std::string>& names, const EinsumTensor& tensor) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return is_about(name, tensor); });
  };
  MapspaceConstraints all = unconstrained(problem, chip);
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const StorageLevel& level = chip.levels[l];
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      const EinsumTensor& tensor = problem.tensors[t];
      if (l > 0 && level.holds && all[l].keeps[t].value_or(false)) {
        all[l].keeps[t] = named(*level.holds, tensor);
      }
      for (std::size_t axis = 0; axis < level.array.size(); ++axis) {
        const std::optional<std::vector<std::string>>& shared = level.array[axis].shared;
        if (!shared || !named(*shared, tensor)) continue;
        for (const std::vector<IndexTerm>& rank : tensor.ranks) {
          for (const IndexTerm& term : rank) all[l].space[axis].factors[at(term.dim)] = 1;
        }
      }
    }
  }
  return all;
}

Mapspace::Mapspace(const Einsum& problem, const Chip& chip, MapspaceConstraints constraints)
    : problem_(&problem), chip_(&chip), constraints_(std::move(constraints)) {
  add_slots();
  fix_factors();
  for (std::size_t l = 0; l < constraints_.size(); ++l) {
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      if (!constraints_[l].keeps[t]) {
        free_keeps_.emplace_back(static_cast<int>(l), static_cast<int>(t));
      }
    }
  }
}

void Mapspace::add_slots() {
  for (std::size_t l = 0; l < chip_->levels.size(); ++l) {
    const StorageLevel& level = chip_->levels[l];
    const auto number = static_cast<int>(l);
    if (level.kind == StorageLevel::Kind::kMemory) {
      slots_.push_back({number, -1, 0, constraints_[l].time});
    }
    for (std::size_t axis = 0; axis < level.array.size(); ++axis) {
      if (level.array[axis].size <= 1) continue;
      slots_.push_back(
          {number, static_cast<int>(axis), level.array[axis].size, constraints_[l].space[axis]});
    }
  }
}

// Divides each dimension by the factors that constraints fix, and spreads the primes of the rest.
void Mapspace::fix_factors() {
  const std::size_t dims = problem_->dims.size();
  fixed_.assign(slots_.size() * dims, 1);
  for (std::size_t d = 0; d < dims; ++d) {
    std::int64_t rest = problem_->sizes[d];
    std::vector<int> free;
    int takes_rest = -1;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      const std::optional<std::int64_t>& f = slots_[s].constraint.factors[d];
      if (!f) {
        free.push_back(static_cast<int>(s));
      } else if (*f == 0) {
        takes_rest = static_cast<int>(s);
      } else {
        if (rest % *f != 0) {
          throw InputError(shortened(
              fmt::format("constraints: {}: {}={} does not divide {}, what other loops leave of {}",
                          chip_->levels[at(slots_[s].level)].name, problem_->dims[d], *f, rest,
                          problem_->sizes[d]),
              kLongestMessage));
        }
        fixed_[s * dims + d] = *f;
        rest /= *f;
      }
    }
    if (takes_rest >= 0) free = {takes_rest};
    if (rest > 1 && free.empty()) {
      throw InputError(
          shortened(fmt::format("constraints: {}: no loop can take the factor {} that is left",
                                problem_->dims[d], rest),
                    kLongestMessage));
    }
    for (std::int64_t p = 2; rest > 1; ++p) {
      if (p * p > rest) p = rest;
      for (; rest % p == 0; rest /= p) primes_.push_back({static_cast<int>(d), p, free});
    }
  }
}

void Mapspace::shuffle(RandomStream& random, std::vector<int>& order, std::size_t from) const {
  for (std::size_t i = order.size(); i > from + 1; --i) {
    std::swap(order[i - 1], order[from + random.below(i - from)]);
  }
}

void Mapspace::draw(RandomStream& random, MappingChoice& out) const {
  out.place.resize(primes_.size());
  // Equal primes of a dimension are spread as a multiset: all ways to do so are equally likely.
  for (std::size_t begin = 0; begin < primes_.size();) {
    std::size_t end = begin;
    while (end < primes_.size() && primes_[end].dim == primes_[begin].dim &&
           primes_[end].value == primes_[begin].value) {
      ++end;
    }
    const std::vector<int>& slots = primes_[begin].slots;
    // n equal primes and k - 1 bars between slots, in a random order.
    std::uint64_t primes = end - begin, bars = slots.size() - 1;
    std::size_t slot = 0;
    for (std::size_t i = begin; primes > 0;) {
      if (bars > 0 && random.below(primes + bars) >= primes) {
        ++slot;
        --bars;
      } else {
        out.place[i++] = slots[slot];
        --primes;
      }
    }
    begin = end;
  }
  out.order.resize(slots_.size());
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    std::vector<int>& order = out.order[s];
    order = slots_[s].constraint.innermost;
    const std::size_t given = order.size();
    for (int d = 0; d < static_cast<int>(problem_->dims.size()); ++d) {
      if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
    }
    shuffle(random, order, given);
  }
  const std::size_t tensors = problem_->tensors.size();
  out.keeps.resize(chip_->levels.size() * tensors);
  for (std::size_t l = 0; l < chip_->levels.size(); ++l) {
    for (std::size_t t = 0; t < tensors; ++t) {
      out.keeps[l * tensors + t] = constraints_[l].keeps[t].value_or(false) ? 1 : 0;
    }
  }
  for (const auto& [l, t] : free_keeps_) {
    out.keeps[at(l) * tensors + at(t)] = random.below(2) == 0 ? 1 : 0;
  }
}

void Mapspace::change(RandomStream& random, MappingChoice& choice) const {
  const std::uint64_t kinds = free_keeps_.empty() ? 4 : 5;
  const std::uint64_t kind = random.below(kinds);
  if (kind < 2 && !primes_.empty()) {
    const std::size_t i = random.below(primes_.size());
    const std::vector<int>& slots = primes_[i].slots;
    choice.place[i] = slots[random.below(slots.size())];
  } else if (kind < 4) {
    const std::size_t s = random.below(slots_.size());
    std::vector<int>& order = choice.order[s];
    const std::size_t given = slots_[s].constraint.innermost.size();
    if (order.size() < given + 2) return;
    const std::uint64_t n = order.size() - given;
    std::swap(order[given + random.below(n)], order[given + random.below(n)]);
  } else {
    const auto& [l, t] = free_keeps_[random.below(free_keeps_.size())];
    char& keep = choice.keeps[at(l) * problem_->tensors.size() + at(t)];
    keep = keep == 0 ? 1 : 0;
  }
}

bool Mapspace::build(const MappingChoice& choice, Mapping& out) {
  const std::size_t dims = problem_->dims.size();
  factors_ = fixed_;
  for (std::size_t i = 0; i < primes_.size(); ++i) {
    factors_[at(choice.place[i]) * dims + at(primes_[i].dim)] *= primes_[i].value;
  }
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < dims; ++d) {
      const std::int64_t f = factors_[s * dims + d];
      const std::optional<std::int64_t>& most = slots_[s].constraint.most[d];
      if (most && f > *most) return false;
      product *= f;
      if (slots_[s].axis >= 0 && product > slots_[s].most) return false;
    }
  }
  out.nodes.clear();
  out.unicast.clear();
  std::size_t slot = 0;
  for (int l = 0; l < static_cast<int>(chip_->levels.size()); ++l) {
    for (std::size_t t = 0; t < problem_->tensors.size(); ++t) {
      if (choice.keeps[at(l) * problem_->tensors.size() + t] != 0) {
        out.nodes.push_back(hold(l, static_cast<int>(t)));
      }
    }
    // Loops in time, then those along Y outside of those along X.
    std::size_t end = slot;
    while (end < slots_.size() && slots_[end].level == l) ++end;
    const std::size_t in_space = slot + (slot < end && slots_[slot].axis < 0 ? 1 : 0);
    const auto add = [&](std::size_t s) {
      const std::vector<int>& order = choice.order[s];
      for (std::size_t i = order.size(); i-- > 0;) {
        const std::int64_t f = factors_[s * dims + at(order[i])];
        if (f == 1) continue;
        out.nodes.push_back(slots_[s].axis < 0 ? time_loop(l, order[i], f)
                                               : space_loop(l, slots_[s].axis, order[i], f));
      }
    };
    if (in_space > slot) add(slot);
    for (std::size_t s = end; s-- > in_space;) add(s);
    slot = end;
  }
  return true;
}

// The nearest slot in time above `level` that prime `i` may take; -1: none.
int Mapspace::slot_outside(std::size_t i, int level) const {
  int found = -1;
  for (const int s : primes_[i].slots) {
    const Slot& slot = slots_[at(s)];
    if (slot.axis >= 0 || slot.level >= level) continue;
    if (found < 0 || slot.level > slots_[at(found)].level) found = s;
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
    if (!wanted(primes_[i], slots_[at(choice.place[i])])) continue;
    const int slot = slot_outside(i, level);
    if (slot < 0 || random.below(++seen) != 0) continue;
    chosen = static_cast<int>(i);
    to = slot;
  }
  if (chosen < 0) return false;
  choice.place[at(chosen)] = to;
  return true;
}

std::int64_t Mapspace::used(const MappingChoice& choice, std::size_t s) const {
  const std::size_t dims = problem_->dims.size();
  std::int64_t product = 1;
  for (std::size_t d = 0; d < dims; ++d) product *= fixed_[s * dims + d];
  for (std::size_t i = 0; i < primes_.size(); ++i) {
    if (at(choice.place[i]) == s) product *= primes_[i].value;
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
        if (slots_[at(choice.place[i])].axis >= 0 || product * primes_[i].value > slots_[s].most ||
            std::find(allowed.begin(), allowed.end(), static_cast<int>(s)) == allowed.end())
          continue;
        if (random.below(++seen) == 0) chosen = static_cast<int>(i);
      }
      if (chosen < 0) break;
      choice.place[at(chosen)] = static_cast<int>(s);
      product *= primes_[at(chosen)].value;
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
    const StorageLevel& level = chip_->levels[at(l)];
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
        if (slots_[at(choice.place[i])].level >= l) extents[at(primes_[i].dim)] *= primes_[i].value;
      }
      double needed = 0;
      std::array<bool, kMostEinsumDims> matters{};  // dimensions of the tensors that it keeps
      for (std::size_t t = 0; t < tensors; ++t) {
        if (choice.keeps[at(l) * tensors + t] == 0) continue;
        const EinsumTensor& tensor = problem_->tensors[t];
        needed += tile_words(tensor, extents);
        for (const std::vector<IndexTerm>& rank : tensor.ranks) {
          for (const IndexTerm& term : rank) matters[at(term.dim)] = true;
        }
      }
      if (needed <= room) break;
      const auto inside = [&](const Prime& prime, const Slot& place) {
        return place.level >= l && matters[at(prime.dim)];
      };
      if (!move_out(random, choice, l, inside)) return false;
    }
  }
  return true;
}

double Mapspace::log10_size() const {
  double size = 0;
  std::map<std::pair<int, std::int64_t>, std::pair<int, std::size_t>> powers;
  for (const Prime& p : primes_) {
    auto& [n, slots] = powers[{p.dim, p.value}];
    ++n;
    slots = p.slots.size();
  }
  for (const auto& [prime, power] : powers) {
    // n + k - 1 over k - 1.
    const double n = power.first, k = real(power.second);
    size += (std::lgamma(n + k) - std::lgamma(k) - std::lgamma(n + 1)) / std::log(10.0);
  }
  for (const Slot& s : slots_) {
    if (s.axis >= 0) continue;
    const double free = real(problem_->dims.size() - s.constraint.innermost.size());
    size += std::lgamma(free + 1) / std::log(10.0);
  }
  return size + real(free_keeps_.size()) * std::log10(2.0);
}

}  // namespace orrery
