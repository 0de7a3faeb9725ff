#include "orrery/scenario/kind/remedies.h"

#include <fmt/format.h>

namespace orrery {

std::vector<Remedy> wider_layouts(const Scenario& s) {
  std::vector<Remedy> out;
  for (const int tp : {2, 4, 8, 16}) {
    if (tp <= s.parallel.tp) continue;
    out.push_back({s, fmt::format("parallel.tp: {}", tp)});
    out.back().changed.parallel.tp = tp;
  }
  return out;
}

}  // namespace orrery
