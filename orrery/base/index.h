// The number of an element as an index of a container.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace orrery {

// REQUIRES: not negative.
template <class Number>
  requires std::integral<Number> || std::is_enum_v<Number>
constexpr std::size_t index(Number n) {
  return static_cast<std::size_t>(n);
}

}  // namespace orrery
