// A number of elements and how tensor-parallel ranks divide it.
//
// Every size of a layer that ranks share is a Width: the outputs and inputs of a matrix, the
// elements of a norm, of the cache of a token, of a recurrent state, of a buffer.
#pragma once

#include <cstdint>

namespace orrery {

// Number of groups (key-value heads, groups of Mamba-2) that one of `tp` ranks holds: groups / tp,
// or one copied group if there are fewer groups than ranks. REQUIRES that the smaller of the two
// divides the larger.
constexpr int groups_per_rank(int groups, int tp) { return groups > tp ? groups / tp : 1; }

struct Width {
  std::int64_t divided = 0;  // every rank holds 1/tp of them
  // Elements of `groups` equal groups. Serving does not cut a group: with fewer groups than ranks,
  // several ranks hold copies of one (QKVParallelLinear in vllm/model_executor/layers/linear.py).
  std::int64_t grouped = 0;
  int groups = 1;
  std::int64_t whole = 0;  // every rank holds all of them

  constexpr std::int64_t total() const { return divided + grouped + whole; }

  // Elements on one of `tp` ranks; a fraction where tp does not divide. `cut`: groups are divided
  // as the other elements are (RankShare::cuts_groups).
  constexpr double on_rank(int tp, bool cut = false) const {
    double n = static_cast<double>(divided) / tp;
    if (grouped > 0)
      n += cut ? static_cast<double>(grouped) / tp
               : static_cast<double>(grouped) / groups * groups_per_rank(groups, tp);
    return n + static_cast<double>(whole);
  }

  // REQUIRES that at most one of the two has groups, or both have as many.
  friend constexpr Width operator+(const Width& a, const Width& b) {
    return {a.divided + b.divided, a.grouped + b.grouped, a.grouped > 0 ? a.groups : b.groups,
            a.whole + b.whole};
  }
  friend constexpr Width operator*(std::int64_t n, const Width& a) {
    return {n * a.divided, n * a.grouped, a.groups, n * a.whole};
  }
  bool operator==(const Width&) const = default;
};

constexpr Width divided(std::int64_t elements) { return {.divided = elements}; }
constexpr Width whole(std::int64_t elements) { return {.whole = elements}; }
// `groups` groups of `each` elements.
constexpr Width grouped(int groups, std::int64_t each) {
  return {.grouped = groups * each, .groups = groups};
}

}  // namespace orrery
