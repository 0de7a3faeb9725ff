// All fitted constants of the bundled catalog/network, for tests that hold of every file.
#pragma once

#include <vector>

#include "orrery/network/collectives/network_constants.h"

namespace orrery {

inline std::vector<FabricConstants> bundled_network_constants() {
  const Bundle bundle;
  std::vector<FabricConstants> all;
  for (const std::string& path : network_constants_paths(bundle)) {
    const auto file = bundle.find(path);
    all.push_back(read_network_constants(parse_yaml(file->content, file->name)));
  }
  return all;
}

}  // namespace orrery
