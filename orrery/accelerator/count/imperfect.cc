#include "orrery/accelerator/count/imperfect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostFetches = 100'000'000;

// A box of elements; `cut` is a box that was taken out of it.
struct Words {
  RankVector low = {}, extent = {};
  std::optional<std::pair<RankVector, RankVector>> cut;
  double count = 0;
  bool operator==(const Words&) const = default;
};

double volume(const RankVector& extent, std::size_t ranks) {
  double n = 1;
  for (std::size_t r = 0; r < ranks; ++r) n *= real(std::max<std::int64_t>(0, extent[r]));
  return n;
}

class Walk {
 public:
  explicit Walk(const PartialBoundary& b) : b_(b), ranks_(b.tensor->ranks.size()) {
    at_.assign(b.loops.size(), 0);
    for (std::size_t i = 0; i < b.below; ++i) {
      if (b.loops[i].time) {
        time_.push_back(i);
      } else if (b.loops[i].level == b.level) {
        space_.push_back(i);
        if (b.loops[i].loop.axis == 0) used_columns_ *= b.loops[i].loop.size;
      }
    }
  }

  PartialCounts run() {
    visit(0, 1);
    out_.active /= out_.steps;
    return std::move(out_);
  }

 private:
  // Whether every loop outside of loop `i` over the dimension is in its last iteration.
  bool is_last(std::size_t i, int dim) const {
    for (std::size_t j = 0; j < i; ++j) {
      if (b_.loops[j].dim == dim && at_[j] + 1 < b_.loops[j].last) return false;
    }
    return true;
  }

  std::int64_t iterations(std::size_t i) const {
    const PartialLoop& l = b_.loops[i];
    return is_last(i, l.dim) ? l.last : l.loop.size;
  }

  void visit(std::size_t k, double weight) {
    if (k == time_.size()) return fetch(weight);
    const std::size_t i = time_[k];
    const std::int64_t n = iterations(i);
    at_[i] = 0;
    visit(k + 1, weight);
    if (n >= 4) {
      at_[i] = 1;
      visit(k + 1, weight * real(n - 3));
    }
    for (std::int64_t last = std::max<std::int64_t>(1, n - 2); last < n; ++last) {
      at_[i] = last;
      visit(k + 1, weight);
    }
    at_[i] = 0;
  }

  void fetch(double weight) {
    if (++fetches_ > kMostFetches) {
      throw Infeasible(fmt::format(
          "a mapping with imperfect factors and {} loops in time takes more than {} steps to count",
          time_.size(), kMostFetches));
    }
    out_.steps += weight;
    RankVector low = {}, extent = {};
    for (std::size_t r = 0; r < ranks_; ++r) {
      extent[r] = 1;
      for (const IndexTerm& term : b_.tensor->ranks[r]) {
        const auto d = static_cast<std::size_t>(term.dim);
        const std::int64_t size = b_.compute                    ? 1
                                  : is_last(b_.below, term.dim) ? b_.last_tile[d]
                                                                : b_.tile[d];
        extent[r] += term.coefficient * (size - 1);
      }
      for (const std::size_t i : time_) low[r] += at_[i] * b_.loops[i].loop.offset[r];
    }
    out_.largest_tile = std::max(out_.largest_tile, volume(extent, ranks_));
    deliver(weight, new_words(low, extent));
  }

  // The words that the tile of the step before did not have, if the tile moves as it did then.
  Words new_words(const RankVector& low, const RankVector& extent) {
    Words words{low, extent, {}, volume(extent, ranks_)};
    if (b_.compute) return words;
    if (has_tile_) {
      RankVector move = {};
      for (std::size_t r = 0; r < ranks_; ++r) move[r] = low[r] - low_[r];
      const bool stays = move == RankVector{};
      if (stays || !move_ || *move_ == move) {
        subtract_last(words);
        if (!stays) move_ = move;
      } else {
        move_.reset();
      }
    }
    has_tile_ = true;
    low_ = low;
    extent_ = extent;
    return words;
  }

  void subtract_last(Words& words) const {
    RankVector from = {}, common = {};
    std::size_t differs = 0, rank = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      from[r] = std::max(words.low[r], low_[r]);
      common[r] = std::min(words.low[r] + words.extent[r], low_[r] + extent_[r]) - from[r];
      if (common[r] <= 0) return;
      if (common[r] != words.extent[r]) {
        ++differs;
        rank = r;
      }
    }
    words.count -= volume(common, ranks_);
    if (differs == 1) {
      // The rest is a box, unless the last tile lies inside of the new one.
      if (from[rank] == words.low[rank]) words.low[rank] += common[rank];
      words.extent[rank] -= common[rank];
    } else if (differs > 1) {
      words.cut = {from, common};
    }
  }

  // Offsets of the instances in use, in their order.
  void place(std::size_t k, const RankVector& offset, std::vector<RankVector>& places) {
    if (k == space_.size()) {
      places.push_back(offset);
      return;
    }
    const std::size_t i = space_[k];
    const std::int64_t n = iterations(i);
    for (std::int64_t x = 0; x < n; ++x) {
      at_[i] = x;
      RankVector next = offset;
      for (std::size_t r = 0; r < ranks_; ++r) next[r] += x * b_.loops[i].loop.offset[r];
      place(k + 1, next, places);
    }
    at_[i] = 0;
  }

  static Words moved(Words w, const RankVector& offset) {
    for (std::size_t r = 0; r < offset.size(); ++r) {
      w.low[r] += offset[r];
      if (w.cut) w.cut->first[r] += offset[r];
    }
    return w;
  }

  void deliver(double weight, const Words& words) {
    std::vector<RankVector> places;
    place(0, RankVector{}, places);
    out_.active += weight * real(places.size());
    std::vector<char> all(places.size(), 1);
    std::map<std::int64_t, std::int64_t> groups = group(places, all);
    if (words.count > 0 && places.size() > 1) {
      double receivers = 0;
      std::vector<char> others = all;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (passed_on(i, moved(words, places[i]))) {
          others[i] = 0;
          receivers += 1;
        }
      }
      std::map<std::int64_t, std::int64_t> fewer = group(places, others);
      if (count(fewer) < count(groups)) {
        groups = std::move(fewer);
        out_.counts.link_transfers += weight * words.count * receivers;
      }
    }
    if (words.count > 0) {
      for (const auto& [multicast, scatter] : groups) add(weight, words.count, multicast, scatter);
    }
    before_ = words;
    places_before_ = std::move(places);
  }

  // Whether a neighbour on the array fetched the same words a step before.
  bool passed_on(std::size_t i, const Words& words) const {
    const auto columns = static_cast<std::size_t>(std::max(b_.columns, used_columns_));
    const std::size_t column = i % columns;
    const auto had = [&](std::size_t j) {
      return j < places_before_.size() && moved(before_, places_before_[j]) == words;
    };
    return (i >= columns && had(i - columns)) || had(i + columns) || (column > 0 && had(i - 1)) ||
           (column + 1 < columns && had(i + 1));
  }

  // Number of groups by the receivers of a group.
  std::map<std::int64_t, std::int64_t> group(const std::vector<RankVector>& places,
                                             const std::vector<char>& wanted) const {
    std::map<RankVector, std::int64_t> members;
    std::map<std::int64_t, std::int64_t> out;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (wanted[i] == 0) continue;
      if (b_.no_multicast) {
        ++out[1];
      } else {
        ++members[places[i]];
      }
    }
    for (const auto& [offset, n] : members) ++out[n];
    return out;
  }

  static std::int64_t count(const std::map<std::int64_t, std::int64_t>& groups) {
    std::int64_t n = 0;
    for (const auto& [multicast, scatter] : groups) n += scatter;
    return n;
  }

  void add(double weight, double words, std::int64_t multicast, std::int64_t scatter) {
    std::vector<Delivery>& all = out_.counts.deliveries;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Delivery& d) {
      return d.multicast == multicast && d.scatter == scatter;
    });
    const double accesses = weight * words * real(scatter);
    if (same == all.end()) {
      all.push_back({multicast, scatter, accesses, 0});
    } else {
      same->accesses += accesses;
    }
  }

  const PartialBoundary& b_;
  std::size_t ranks_;
  std::vector<std::size_t> time_, space_;
  std::int64_t used_columns_ = 1;
  std::vector<std::int64_t> at_;  // iteration of each loop
  bool has_tile_ = false;
  RankVector low_ = {}, extent_ = {};
  std::optional<RankVector> move_;
  Words before_;
  std::vector<RankVector> places_before_;
  std::int64_t fetches_ = 0;
  PartialCounts out_;
};

}  // namespace

PartialCounts count_imperfect(const PartialBoundary& boundary) { return Walk(boundary).run(); }

}  // namespace orrery
