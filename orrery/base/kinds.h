// Functions for registries: lists of kinds that each have a `name`, in the order in which users see
// them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {

template <class Kind>
std::vector<std::string> names_of(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind& k : kinds) names.emplace_back(k.name);
  return names;
}

// The kind of that name. InputError "unknown <what> '<name>'" with the nearest name, or with all
// names if none is near.
template <class Kind>
const Kind& kind_named(const std::vector<Kind>& kinds, std::string_view what,
                       std::string_view name) {
  for (const Kind& k : kinds) {
    if (k.name == name) return k;
  }
  const std::string near = did_you_mean(name, names_of(kinds));
  throw InputError(fmt::format(
      "unknown {} '{}'{}", what, name,
      near.empty() ? fmt::format("; expected one of {}", fmt::join(names_of(kinds), ", ")) : near));
}

}  // namespace orrery
