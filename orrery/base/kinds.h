// Registries: a list of kinds, each with a `name`, in the order in which users are shown them.
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

// The kind of that name; InputError "unknown <what> '<name>'" naming the nearest, or all.
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
