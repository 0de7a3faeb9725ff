#include "orrery/accelerator/mapping/mapping.h"

namespace orrery {

bool is_even(const Mapping& mapping) {
  int level = 0;
  MappingNode::Kind kind = MappingNode::Kind::kHold;
  for (const MappingNode& node : mapping.nodes) {
    if (node.level < level || (node.level == level && node.kind < kind)) return false;
    level = node.level;
    kind = node.kind;
  }
  return true;
}

}  // namespace orrery
