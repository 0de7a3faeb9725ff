// The groups of ranks on which the collectives of Chakra traces run.
//
// A node names its group by pg_name if the replay knows groups of that name. Otherwise the node's
// dimensions of the mesh of ranks count (all dimensions if it names none): a group consists of the
// ranks that agree in the coordinates of the other dimensions. Groups of two names are two
// communicators, even of the same ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/base/node.h"
#include "orrery/flow/chakra/chakra.h"
#include "orrery/flow/chakra/chakra_types.h"

namespace orrery {

class ChakraGroups {
 public:
  // `replay` must outlive it.
  explicit ChakraGroups(const ChakraReplay& replay) : replay_(replay) {}

  // A key that is equal for nodes whose collectives run on the same groups.
  std::string key(const ChakraNode& n) const;
  // Whether the replay knows groups of this name.
  bool knows(const std::string& name) const {
    return !name.empty() && replay_.groups.contains(name);
  }
  // The number of each rank's group; -1: the rank is in none. InputError: a rank that does not
  // exist.
  const std::vector<int>& of_rank(const ChakraNode& n) { return of_rank(key(n)); }
  const std::vector<int>& of_rank(const std::string& key);
  // The ranks of a group, by its number.
  const std::vector<int>& ranks(int group) const { return all_[index(group)]; }

 private:
  const ChakraReplay& replay_;
  std::map<std::string, std::vector<int>> by_key_;
  std::map<std::pair<std::string, std::vector<int>>, int> ids_;  // by name and ranks
  std::vector<std::vector<int>> all_;
};

// ASTRA-sim's file of communicator groups: {"0": [0, 1, 2, 3], "1": [...]}.
std::map<std::string, std::vector<std::vector<int>>> read_communicator_groups(const Node& document);

}  // namespace orrery
