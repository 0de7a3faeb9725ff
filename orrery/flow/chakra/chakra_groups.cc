#include "orrery/flow/chakra/chakra_groups.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {

std::string ChakraGroups::key(const ChakraNode& n) const {
  if (knows(n.group)) return "=" + n.group;
  std::string mask;
  for (std::size_t d = 0; d < replay_.dimensions.size(); ++d) {
    const bool involved = n.dimensions.empty() || (d < n.dimensions.size() && n.dimensions[d]);
    mask += involved ? '1' : '0';
  }
  return mask;
}

const std::vector<int>& ChakraGroups::of_rank(const std::string& key) {
  const auto [it, fresh] = by_key_.try_emplace(key);
  if (!fresh) return it->second;
  std::vector<int>& number = it->second;
  number.assign(static_cast<std::size_t>(replay_.gpus), -1);
  std::vector<std::vector<int>> groups;
  if (key.starts_with('=')) {
    groups = replay_.groups.at(key.substr(1));
  } else {
    // Ranks that agree in the coordinates that are not involved.
    std::map<int, std::vector<int>> by_rest;
    for (int r = 0; r < replay_.gpus; ++r) {
      int rest = 0, stride = 1, left = r;
      for (std::size_t d = 0; d < replay_.dimensions.size(); ++d) {
        const int size = replay_.dimensions[d];
        if (key[d] == '0') rest += left % size * stride;
        stride *= size;
        left /= size;
      }
      by_rest[rest].push_back(r);
    }
    for (auto& [rest, ranks] : by_rest) groups.push_back(std::move(ranks));
  }
  for (auto& ranks : groups) {
    for (int r : ranks) {
      if (r < 0 || r >= replay_.gpus) {
        throw InputError(fmt::format("a communicator has rank {} of {}", r, replay_.gpus));
      }
    }
    const auto [known, added] =
        ids_.try_emplace({key.starts_with('=') ? key : "", ranks}, static_cast<int>(all_.size()));
    if (added) all_.push_back(ranks);
    for (int r : ranks) number[index(r)] = known->second;
  }
  return number;
}

std::map<std::string, std::vector<std::vector<int>>> read_communicator_groups(
    const Node& document) {
  if (!document.is_map()) document.fail("expected a map of group names to lists of ranks");
  std::map<std::string, std::vector<std::vector<int>>> groups;
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const Node& list = document.items()[i];
    if (!list.is_list() || list.items().empty()) list.fail("expected a list of ranks");
    std::vector<int> ranks;
    for (const Node& rank : list.items()) {
      const std::int64_t r = rank.as_int();
      if (r < 0 || r > 1'000'000) rank.fail("expected a rank");
      ranks.push_back(static_cast<int>(r));
    }
    groups[document.keys()[i]].push_back(std::move(ranks));
  }
  return groups;
}

}  // namespace orrery
