#include "orrery/validate/judge/wire_limit.h"

namespace orrery {

void WireLimit::note(const std::string& group, std::size_t first, std::size_t last, bool faster) {
  Group& g = groups_[group];
  g.faster += faster ? 1 : 0;
  g.rows[first] = last;
}

void WireLimit::mark(ValidationReport& report) const {
  for (const auto& [name, group] : groups_) {
    if (group.faster < kFewest) continue;
    for (const auto& [first, last] : group.rows) {
      for (std::size_t i = first; i < last; ++i) report.rows[i].by["trusted"] = "distrusted";
    }
  }
}

}  // namespace orrery
