// The short texts of Timeloop's mappings and constraints: factors and permutations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/node.h"

namespace orrery {

// "M=8" is a factor of 8, "M=8,7" one whose last pass has 7 iterations, "M<=8" a bound.
struct TimeloopFactor {
  int dim = 0;
  std::int64_t size = 1, last = 1;
  bool bound = false;
};

// The index of `name` in `names`. InputError at `node` with the nearest name; `what` says what is
// expected ("level").
int index_of_name(const std::vector<std::string>& names, const std::string& name, const Node& node,
                  const char* what);

// Factors in a text ("M=8,7 N=4", "M8 N4") or in a list of such texts.
std::vector<TimeloopFactor> read_factors(const Node& node, const std::vector<std::string>& dims);

// Dimensions in a text ("KMN", "K M N", "K,M,N") or in a list, in the order of the text. InputError
// if one stands twice.
std::vector<int> read_permutation(const Node& node, const std::vector<std::string>& dims);

}  // namespace orrery
