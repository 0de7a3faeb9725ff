#include "apps/server/limits.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery::server {
namespace {

constexpr std::size_t kQuickPoints = 128;
constexpr std::int64_t kQuickRequests = 5000;

// Requests that are simulated, at least.
std::int64_t requests_of(const Scenario& s) {
  const auto* service = s.if_asked<ServiceQuestion>();
  return service == nullptr ? 0 : service->sent() * std::max<std::int64_t>(1, service->repeat);
}

std::int64_t requests_of(const ScenarioSweep& question) {
  std::int64_t all = 0;
  for (const Scenario& s : question.points) all += requests_of(s);
  return all;
}

}  // namespace

bool is_quick(const ScenarioSweep& question) {
  const Scenario& first = question.points.front();
  if (first.if_asked<PlanQuestion>() || first.if_asked<ReplayQuestion>()) return false;
  if (const auto* service = first.if_asked<ServiceQuestion>())
    return !service->find_max_rate && requests_of(question) <= kQuickRequests;
  return question.points.size() <= kQuickPoints;
}

void check_size(const ScenarioSweep& question, const ServeLimits& limits) {
  const auto points = static_cast<std::int64_t>(question.points.size());
  if (points > limits.points)
    throw InputError(
        fmt::format("the question has {} points; this server answers at most {} at once "
                    "(orrery serve --max-points)",
                    points, limits.points));
  if (const std::int64_t requests = requests_of(question); requests > limits.requests)
    throw InputError(
        fmt::format("the question simulates {} requests; this server takes at most {} "
                    "(orrery serve --max-requests)",
                    requests, limits.requests));
}

}  // namespace orrery::server
