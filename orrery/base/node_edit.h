// Changes to a document's tree, beside set_path of node.h.
#pragma once

#include <string_view>

#include "orrery/base/node.h"

namespace orrery {

// A copy of the map without that key, if there is one.
Node without(const Node& map, std::string_view key);

}  // namespace orrery
