// An einsum of AccelForge's workloads, before its variables have sizes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/node.h"

namespace orrery {

struct AccelforgeAccess {
  std::string name;
  bool output = false, persistent = false;
  std::string rename;  // the name in parentheses: Q(input)
  int bits = 0;        // 0: those of the workload
  // Each rank with its projection: a variable, or a sum of variables with coefficients.
  std::vector<std::pair<std::string, std::string>> ranks;
};

struct AccelforgeEinsum {
  std::string name;
  bool copy = false;
  std::vector<AccelforgeAccess> accesses;
  std::map<std::string, std::string> renames;  // new name -> set of tensors
  std::map<std::string, std::int64_t> sizes;   // of variables, of this einsum
  std::map<std::string, std::int64_t> ranks;   // sizes of ranks, of this einsum
};

// Reads an entry of `einsums`. InputError with its place.
AccelforgeEinsum read_accelforge_einsum(const Node& node);

// Reads renames, a map {name: source} or a list of {name, source}, over those that are there.
void read_accelforge_renames(const Node& node, std::map<std::string, std::string>& renames);

// Reads "0 <= m < 128" into `sizes`.
void read_accelforge_bounds(const Node& node, std::map<std::string, std::int64_t>& sizes);

}  // namespace orrery
