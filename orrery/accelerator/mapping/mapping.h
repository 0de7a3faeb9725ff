// A mapping: the loops of an einsum in time and in space, and the places where tensors are held.
//
// A mapping is a list of nodes, outermost first. A holder says that a memory keeps the tile of a
// tensor which the loops after it cover. A loop in time runs its body once after another; a loop in
// space divides its body among the instances along an axis of the array below a level.
//
// In an even mapping the nodes of a level stand together, its holders before its loops and its
// loops in time before those in space, as Timeloop has it. Other mappings place each holder on its
// own, as LoopTree (AccelForge) has it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace orrery {

struct MappingNode {
  enum class Kind : std::uint8_t { kHold, kTime, kSpace };
  Kind kind = Kind::kTime;
  std::uint8_t axis = 0;  // kSpace: index into StorageLevel::array
  // kHold: the memory. kSpace: the level below which the array stands. kTime: the innermost level
  // whose tile covers the loop.
  std::int16_t level = 0;
  std::int16_t index = 0;  // kHold: the tensor. Loops: the dimension
  std::int64_t size = 1;   // iterations of a loop
  std::int64_t last = 1;   // iterations of the last pass; less than `size` for an imperfect factor

  bool hold() const { return kind == Kind::kHold; }
  bool time() const { return kind == Kind::kTime; }
  bool space() const { return kind == Kind::kSpace; }
  bool operator==(const MappingNode&) const = default;
};

struct Mapping {
  std::vector<MappingNode> nodes;  // outermost first
  // Level and tensor of deliveries without multicast: every receiver gets words of its own.
  std::vector<std::pair<int, int>> unicast;
};

inline MappingNode hold(int level, int tensor) {
  return {MappingNode::Kind::kHold,          0, static_cast<std::int16_t>(level),
          static_cast<std::int16_t>(tensor), 1, 1};
}
inline MappingNode time_loop(int level, int dim, std::int64_t size) {
  return {MappingNode::Kind::kTime,       0,    static_cast<std::int16_t>(level),
          static_cast<std::int16_t>(dim), size, size};
}
inline MappingNode space_loop(int level, int axis, int dim, std::int64_t size) {
  return {MappingNode::Kind::kSpace,
          static_cast<std::uint8_t>(axis),
          static_cast<std::int16_t>(level),
          static_cast<std::int16_t>(dim),
          size,
          size};
}

// True if the holders and loops of each level stand together, in the order of the levels.
bool is_even(const Mapping& mapping);

}  // namespace orrery
