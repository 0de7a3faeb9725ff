#include "orrery/accelerator/count/boundary.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "orrery/base/index.h"

namespace orrery {
namespace {

// Elements of a tile that are in it again after the move.
double overlap(const RankVector& tile, int ranks, const RankVector& move) {
  double n = 1;
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    n *= real(std::max<std::int64_t>(0, tile[at] - std::abs(move[at])));
  }
  return n;
}

}  // namespace

double BoundaryCounter::volume(const Region& region) const {
  if (region.kind == Region::Kind::kNothing) return 0;
  if (region.kind == Region::Kind::kTile) return tile_volume_;
  return tile_volume_ - overlap(boundary_->tile, boundary_->ranks, region.move);
}

// Instances with the same offset need the same tile. Loops that do not move the tensor multiply the
// receivers of a group. The loops that move it make one group for each combination if no two
// combinations meet; otherwise the instances are sorted by offset.
void BoundaryCounter::find_groups() {
  const Boundary& b = *boundary_;
  fanout_ = used_columns_ = 1;
  for (const MovingLoop& loop : b.space) {
    fanout_ *= loop.size;
    if (loop.axis == 0) used_columns_ *= loop.size;
  }
  columns_ = std::max(b.columns, used_columns_);
  groups_.clear();
  places_.clear();
  known_patterns_ = 0;
  reach_ = {};
  if (fanout_ == 1) {
    groups_.push_back({1, 1, 0});
    return;
  }
  bool apart = true;  // no two combinations meet: in every rank each loop steps over the inner ones
  std::int64_t multicast = 1;
  for (auto loop = b.space.rbegin(); loop != b.space.rend(); ++loop) {
    if (!loop->moves()) multicast *= loop->size;
    int ranks = 0;
    for (std::size_t r = 0; r < kMostRanks; ++r) {
      const std::int64_t step = loop->offset[r];
      if (step == 0) continue;
      apart = apart && ++ranks == 1 && step > reach_[r];
      reach_[r] += step * (loop->size - 1);
    }
  }
  if (apart && !b.no_multicast && !b.hops) {
    groups_.push_back({multicast, fanout_ / multicast, 0});
    return;
  }
  place_instances();
  group_by_offset(nullptr, groups_);
}

// The offset of each instance. The innermost loop runs through neighbours; instances fill the array
// as built row by row.
void BoundaryCounter::place_instances() {
  if (!places_.empty()) return;
  const Boundary& b = *boundary_;
  places_.assign(static_cast<std::size_t>(fanout_), RankVector{});
  for (std::int64_t at = 0; at < fanout_; ++at) {
    std::int64_t digits = at;
    RankVector& place = places_[index(at)];
    for (auto loop = b.space.rbegin(); loop != b.space.rend(); ++loop) {
      const std::int64_t i = digits % loop->size;
      digits /= loop->size;
      for (std::size_t r = 0; r < kMostRanks; ++r) place[r] += i * loop->offset[r];
    }
  }
}

void BoundaryCounter::group_by_offset(const std::vector<char>* left_out,
                                      std::vector<Group>& groups) {
  groups.clear();
  order_.clear();
  for (std::int64_t at = 0; at < fanout_; ++at) {
    if (left_out == nullptr || (*left_out)[index(at)] == 0) order_.push_back(at);
  }
  const auto place = [this](std::int64_t at) -> const RankVector& { return places_[index(at)]; };
  if (boundary_->no_multicast) {
    std::sort(order_.begin(), order_.end());
  } else {
    std::sort(order_.begin(), order_.end(), [&](std::int64_t x, std::int64_t y) {
      return place(x) != place(y) ? place(x) < place(y) : x < y;
    });
  }
  for (std::size_t begin = 0; begin < order_.size();) {
    std::size_t end = begin + 1;
    while (!boundary_->no_multicast && end < order_.size() &&
           place(order_[end]) == place(order_[begin])) {
      ++end;
    }
    const double hops = boundary_->hops
                            ? hops_of({order_.begin() + static_cast<std::ptrdiff_t>(begin),
                                       order_.begin() + static_cast<std::ptrdiff_t>(end)})
                            : 0;
    const auto members = static_cast<std::int64_t>(end - begin);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const Group& g) { return g.multicast == members; });
    if (same == groups.end()) {
      groups.push_back({members, 1, hops});
    } else {
      ++same->scatter;
      same->hops += hops;
    }
    begin = end;
  }
}

// Words enter at the middle of the edge of the first column, run along to the farthest column, and
// in each column up and down to the farthest receivers. Receivers, which are sorted by number, fill
// the physical array row by row.
double BoundaryCounter::hops_of(std::span<const std::int64_t> receivers) const {
  const double middle = real(std::max(boundary_->rows, fanout_ / used_columns_) - 1) / 2;
  std::int64_t farthest = 0;
  double hops = 0;
  for (const std::int64_t at : receivers) farthest = std::max(farthest, at % columns_);
  for (std::int64_t column = 0; column <= farthest; ++column) {
    double up = 0, down = 0;
    for (const std::int64_t at : receivers) {
      if (at % columns_ != column) continue;
      up = std::max(up, middle - real(at / columns_));
      down = std::max(down, real(at / columns_) - middle);
    }
    hops += up + down;
  }
  return hops + real(farthest);
}

// Whether the loops along columns all run outside of those along rows.
bool BoundaryCounter::rows_outside() const {
  bool along_row = false;
  for (const MovingLoop& loop : boundary_->space) {
    if (along_row && loop.axis != 0) return false;
    along_row = along_row || loop.axis == 0;
  }
  return true;
}

// Whether two offsets may differ by `move`: most moves in time go beyond the whole array.
bool BoundaryCounter::within_reach(const RankVector& move) const {
  for (std::size_t r = 0; r < kMostRanks; ++r) {
    if (std::abs(move[r]) > reach_[r]) return false;
  }
  return true;
}

// Whether some instance's offset may be by `move` greater than that of a neighbour. Between columns
// h and h + 1 one loop advances and the loops inside of it return.
bool BoundaryCounter::any_neighbour_moves_by(const RankVector& move) const {
  if (columns_ != used_columns_ || !rows_outside()) return true;
  for (const bool along_row : {true, false}) {
    RankVector inner = {};
    for (auto loop = boundary_->space.rbegin(); loop != boundary_->space.rend(); ++loop) {
      if ((loop->axis == 0) != along_row) continue;
      bool up = true, down = true;
      for (std::size_t r = 0; r < kMostRanks; ++r) {
        const std::int64_t step = loop->offset[r] - inner[r];
        up = up && step == move[r];
        down = down && step == -move[r];
        inner[r] += (loop->size - 1) * loop->offset[r];
      }
      if (up || down) return true;
    }
  }
  return false;
}

const BoundaryCounter::LinkPattern& BoundaryCounter::link_pattern(const RankVector& move) {
  for (std::size_t i = 0; i < known_patterns_; ++i) {
    if (equal(patterns_[i].move, move)) return patterns_[i];
  }
  if (known_patterns_ == patterns_.size()) patterns_.emplace_back();
  LinkPattern& p = patterns_[known_patterns_++];
  p.move = move;
  p.receivers = 0;
  p.fewer_groups = false;
  if (!any_neighbour_moves_by(move)) return p;
  place_instances();
  receives_.assign(static_cast<std::size_t>(fanout_), 0);
  const auto passes = [&](std::int64_t at, std::int64_t neighbour) {
    const RankVector& to = places_[index(at)];
    const RankVector& from = places_[index(neighbour)];
    for (std::size_t r = 0; r < kMostRanks; ++r) {
      if (from[r] - to[r] != move[r]) return false;
    }
    return true;
  };
  for (std::int64_t at = 0; at < fanout_; ++at) {
    const std::int64_t column = at % columns_;
    const bool gets = (at >= columns_ && passes(at, at - columns_)) ||
                      (at + columns_ < fanout_ && passes(at, at + columns_)) ||
                      (column > 0 && passes(at, at - 1)) ||
                      (column + 1 < columns_ && at + 1 < fanout_ && passes(at, at + 1));
    receives_[index(at)] = gets ? 1 : 0;
    p.receivers += gets ? 1 : 0;
  }
  if (p.receivers == 0) return p;
  group_by_offset(&receives_, p.others);
  const auto count = [](std::span<const Group> groups) {
    std::int64_t n = 0;
    for (const Group& g : groups) n += g.scatter;
    return n;
  };
  p.fewer_groups = count(p.others) < count(groups_);
  return p;
}

// A region that is new along one rank is a box at the end of the tile that the move points to.
bool BoundaryCounter::neighbour_move(const Region& now, const RankVector& moved,
                                     const Region& before, RankVector& move) const {
  if (now.kind == Region::Kind::kNothing || before.kind == Region::Kind::kNothing) return false;
  if (now.kind == Region::Kind::kTile && before.kind == Region::Kind::kTile) {
    move = moved;
    return true;
  }
  const Boundary& b = *boundary_;
  const auto box = [&](const Region& region, RankVector& low, RankVector& extent) {
    low = {};
    extent = b.tile;
    if (region.kind != Region::Kind::kNew) return true;
    int ranks = 0;
    for (int i = 0; i < b.ranks; ++i) {
      const auto r = static_cast<std::size_t>(i);
      const std::int64_t step = region.move[r];
      if (step == 0) continue;
      if (++ranks > 1) return false;
      if (std::abs(step) >= b.tile[r]) continue;
      extent[r] = std::abs(step);
      if (step > 0) low[r] = b.tile[r] - step;
    }
    return true;
  };
  RankVector low_now, low_before, extent_now, extent_before;
  const bool box_now = box(now, low_now, extent_now);
  const bool box_before = box(before, low_before, extent_before);
  if (box_now != box_before) return false;
  if (box_now ? !equal(extent_now, extent_before) : !equal(now.move, before.move)) return false;
  for (std::size_t r = 0; r < kMostRanks; ++r) move[r] = low_now[r] + moved[r] - low_before[r];
  return true;
}

void BoundaryCounter::add(double words, std::span<const Group> groups, BoundaryCounts& out) {
  for (const Group& g : groups) {
    const auto same = std::find_if(
        out.deliveries.begin(), out.deliveries.end(),
        [&](const Delivery& d) { return d.multicast == g.multicast && d.scatter == g.scatter; });
    const double accesses = words * real(g.scatter);
    if (same == out.deliveries.end()) {
      out.deliveries.push_back({g.multicast, g.scatter, accesses, g.hops});
    } else {
      same->accesses += accesses;
      same->hops = g.hops;
    }
  }
}

void BoundaryCounter::add_event(double weight, const Region& now, const RankVector& moved,
                                const Region& before, BoundaryCounts& out) {
  const double words = weight * volume(now);
  if (words == 0) return;
  RankVector move;
  if (fanout_ > 1 && neighbour_move(now, moved, before, move) && within_reach(move)) {
    const LinkPattern& links = link_pattern(move);
    if (links.fewer_groups) {
      out.link_transfers += words * links.receivers;
      return add(words, links.others, out);
    }
  }
  add(words, groups_, out);
}

// The move of the tile when each loop advances, what is then fetched, and how often that is
// (timeloop_count.h). Returns the number of loops up to the innermost one that fetches anything.
std::size_t BoundaryCounter::find_events() {
  const Boundary& b = *boundary_;
  std::size_t loops = b.time.size();
  if (!b.compute) {
    // Loops inside of the innermost that moves the tile leave it where it is.
    while (loops > 0 && !b.time[loops - 1].moves()) --loops;
  }
  moves_.resize(loops);
  weights_.resize(loops);
  regions_.resize(loops);
  RankVector inner = {};
  for (std::size_t j = loops; j-- > 0;) {
    const RankVector& offset = b.time[j].offset;
    for (std::size_t r = 0; r < kMostRanks; ++r) {
      moves_[j][r] = offset[r] - inner[r];
      inner[r] += offset[r];
    }
  }
  double before = 1;
  for (std::size_t j = 0; j < loops; ++j) {
    const double size = real(b.time[j].size);
    weights_[j] = (size - 1) * before;
    before *= size;
    Region& region = regions_[j];
    if (b.compute) {
      region.kind = Region::Kind::kTile;
    } else if (j + 1 == loops || equal(moves_[j], moves_[loops - 1])) {
      region.kind = Region::Kind::kNew;
      region.move = moves_[j];
    } else {
      region.kind = is_zero(moves_[j]) ? Region::Kind::kNothing : Region::Kind::kTile;
    }
  }
  return loops;
}

void BoundaryCounter::count(const Boundary& boundary, BoundaryCounts& out) {
  boundary_ = &boundary;
  out.deliveries.clear();
  out.link_transfers = 0;
  find_groups();
  tile_volume_ = 1;
  for (int r = 0; r < boundary.ranks; ++r) {
    tile_volume_ *= real(boundary.tile[index(r)]);
  }
  const std::size_t loops = find_events();
  if (fanout_ == 1 || loops < boundary.time.size()) {
    // Nobody has a neighbour, or nothing is fetched in the steps before those that fetch.
    double words = tile_volume_;
    for (std::size_t j = 0; j < loops; ++j) words += weights_[j] * volume(regions_[j]);
    return add(words, groups_, out);
  }
  constexpr Region kNone;
  const Region whole{Region::Kind::kTile, {}};
  add_event(1, whole, RankVector{}, kNone, out);
  if (loops == 0) return;
  // The innermost loop advances after the start or after any other loop; every other loop advances
  // after the innermost.
  const std::size_t last = loops - 1;
  for (std::size_t j = 0; j < last; ++j) {
    add_event(weights_[j], regions_[j], moves_[j], regions_[last], out);
  }
  const double again = real(boundary.time[last].size - 1);
  add_event(again, regions_[last], moves_[last], whole, out);
  for (std::size_t j = 0; j < last; ++j) {
    add_event(weights_[j] * again, regions_[last], moves_[last], regions_[j], out);
  }
}

}  // namespace orrery
