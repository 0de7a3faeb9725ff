#include "orrery/accelerator/cost/convention_difference.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"

namespace orrery {
namespace {

void add_if_different(const ExactTensorTraffic& h, const char* access, double exact, double other,
                      std::vector<AccessDifference>& out) {
  constexpr double kRounding = 1e-9;
  if (std::abs(exact - other) <= kRounding * std::max(exact, other)) return;
  out.push_back({h.level, h.tensor, access, exact, other});
}

}  // namespace

std::vector<AccessDifference> differences(const ExactTraffic& exact, const NestCounts& timeloop) {
  std::vector<AccessDifference> out;
  for (const ExactTensorTraffic& h : exact.holders) {
    const LevelCounts& level = timeloop.levels[index(h.level)];
    const TensorCounts& t = level.tensors[index(h.tensor)];
    add_if_different(h, "reads", h.all.reads, t.reads * level.active, out);
    add_if_different(h, "fills", h.all.fills, t.fills * level.active, out);
    add_if_different(h, "updates", h.all.updates, t.updates * level.active, out);
  }
  return out;
}

std::vector<AccessDifference> differences(const ExactTraffic& exact,
                                          const LooptreeCounts& looptree) {
  std::vector<AccessDifference> out;
  for (const ExactTensorTraffic& h : exact.holders) {
    const auto theirs = std::find_if(
        looptree.holders.begin(), looptree.holders.end(),
        [&](const HolderCounts& c) { return c.level == h.level && c.tensor == h.tensor; });
    if (theirs == looptree.holders.end()) continue;
    add_if_different(h, "reads", h.all.reads, theirs->reads, out);
    add_if_different(h, "writes", h.all.writes(), theirs->writes, out);
  }
  return out;
}

}  // namespace orrery
