// A boundary is the place between a level and the level below it: for one tensor, what the level
// below fetches from the level above, and how the words are delivered.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/accelerator/count/timeloop_count.h"

namespace orrery {

// A vector in the space of a tensor's ranks.
using RankVector = std::array<std::int64_t, kMostRanks>;

// Faster than the comparison of arrays, which calls memcmp.
inline bool equal(const RankVector& a, const RankVector& b) {
  std::int64_t difference = 0;
  for (std::size_t r = 0; r < kMostRanks; ++r) difference |= a[r] ^ b[r];
  return difference == 0;
}
inline bool is_zero(const RankVector& v) { return equal(v, RankVector{}); }

// A loop of more than one iteration, with the offset by which an iteration moves the tensor.
struct MovingLoop {
  std::int64_t size = 1;
  int axis = -1;  // of a loop in space: 0 along a row of the array, else along a column
  RankVector offset = {};
  bool moves() const { return !is_zero(offset); }
};

// The boundary between a level and the level below (or the compute units).
struct Boundary {
  std::span<const MovingLoop> time;   // all loops in time above the lower level, outermost first
  std::span<const MovingLoop> space;  // loops in space between the two, outermost first
  RankVector tile = {};               // extents of the lower level's tile
  int ranks = 0;
  bool compute = false;                // below are compute units, which read a point at every step
  bool no_multicast = false;           // every receiver gets words of its own
  bool hops = false;                   // whether hops are counted
  std::int64_t columns = 1, rows = 1;  // of the array as built
};

struct BoundaryCounts {
  std::vector<Delivery> deliveries;
  double link_transfers = 0;
};

class BoundaryCounter {
 public:
  // Replaces `out`.
  void count(const Boundary& boundary, BoundaryCounts& out);

 private:
  // A fetched region relative to the tile's origin: nothing, the tile, or what is new after a move.
  struct Region {
    enum class Kind { kNothing, kTile, kNew } kind = Kind::kNothing;
    RankVector move = {};  // of kNew
  };
  struct Group {
    std::int64_t multicast = 1, scatter = 1;
    double hops = 0;
  };
  struct LinkPattern {
    RankVector move = {};
    double receivers = 0;  // instances that get their words from a neighbour
    bool fewer_groups = false;
    std::vector<Group> others;  // the groups of the other instances
  };

  std::size_t find_events();
  void find_groups();
  void group_by_offset(const std::vector<char>* left_out, std::vector<Group>& groups);
  void place_instances();
  double hops_of(std::span<const std::int64_t> receivers) const;
  bool rows_outside() const;
  bool within_reach(const RankVector& move) const;
  bool any_neighbour_moves_by(const RankVector& move) const;
  const LinkPattern& link_pattern(const RankVector& move);
  double volume(const Region& region) const;
  // Where the receivers of `now` would have had to hold `before`, a step ago, to pass it on.
  // False if the two regions differ in shape.
  bool neighbour_move(const Region& now, const RankVector& moved, const Region& before,
                      RankVector& move) const;
  void add_event(double weight, const Region& now, const RankVector& moved, const Region& before,
                 BoundaryCounts& out);
  void add(double words, std::span<const Group> groups, BoundaryCounts& out);

  const Boundary* boundary_ = nullptr;
  std::int64_t fanout_ = 1, used_columns_ = 1, columns_ = 1;
  double tile_volume_ = 1;
  RankVector reach_ = {};  // the largest difference of two instances' offsets
  std::vector<Group> groups_;
  std::vector<RankVector> places_;     // of each instance; empty until a link needs them
  std::vector<LinkPattern> patterns_;  // the first known_patterns_ are of this boundary
  std::size_t known_patterns_ = 0;
  std::vector<RankVector> moves_;
  std::vector<Region> regions_;
  std::vector<double> weights_;
  std::vector<std::int64_t> order_;
  std::vector<char> receives_;
};

}  // namespace orrery
