// The groups of ranks that the collectives of Chakra traces run on.
//
// A node names its group by pg_name, where the replay knows groups of that name, else by the
// dimensions of the mesh of ranks that it involves (all where it says nothing): ranks that agree in
// the coordinates of the others are a group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/flow/chakra/chakra.h"
#include "orrery/flow/chakra/chakra_types.h"

namespace orrery {

class ChakraGroups {
 public:
  // `replay` must outlive it.
  explicit ChakraGroups(const ChakraReplay& replay) : replay_(replay) {}

  // The same for nodes whose collectives run on the same groups.
  std::string key(const ChakraNode& n) const;
  // Of each rank the number of its group; -1 where it has none. InputError: a rank that is not
  // there.
  const std::vector<int>& of_rank(const ChakraNode& n);
  // The ranks of a group, by its number.
  const std::vector<int>& ranks(int group) const { return all_[static_cast<std::size_t>(group)]; }

 private:
  const ChakraReplay& replay_;
  std::map<std::string, std::vector<int>> by_key_;
  std::map<std::vector<int>, int> ids_;
  std::vector<std::vector<int>> all_;
};

// ASTRA-sim's file of communicator groups: {"0": [0, 1, 2, 3], "1": [...]}.
std::map<std::string, std::vector<std::vector<int>>> read_communicator_groups(const Node& document);

}  // namespace orrery
