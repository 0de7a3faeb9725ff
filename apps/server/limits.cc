#include "apps/server/limits.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/scenario/kind/question_kind.h"

namespace orrery::server {
namespace {

constexpr std::size_t kQuickPoints = 128;
constexpr std::int64_t kQuickRequests = 5000;

// The work of all points together.
Effort effort_of(const ScenarioSweep& question) {
  Effort all;
  for (const Scenario& s : question.points) {
    if (!s.kind().effort) continue;
    const Effort one = s.kind().effort(s);
    all.long_search |= one.long_search;
    if (one.simulated) all.simulated = all.simulated.value_or(0) + *one.simulated;
  }
  return all;
}

}  // namespace

bool is_quick(const ScenarioSweep& question) {
  const Effort effort = effort_of(question);
  if (effort.long_search) return false;
  return effort.simulated ? *effort.simulated <= kQuickRequests
                          : question.points.size() <= kQuickPoints;
}

void check_size(const ScenarioSweep& question, const ServeLimits& limits) {
  const auto points = static_cast<std::int64_t>(question.points.size());
  if (points > limits.points)
    throw InputError(
        fmt::format("the question has {} points; this server answers at most {} at once "
                    "(orrery serve --max-points)",
                    points, limits.points));
  if (const std::int64_t requests = effort_of(question).simulated.value_or(0);
      requests > limits.requests)
    throw InputError(
        fmt::format("the question simulates {} requests; this server takes at most {} "
                    "(orrery serve --max-requests)",
                    requests, limits.requests));
}

}  // namespace orrery::server
