#include "orrery/planner/verify/trials.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"

namespace orrery {
namespace {

constexpr double kLeastTime = 60;  // s, of arrivals
constexpr std::int64_t kMostRequests = 20'000;

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  return m == nullptr ? 0 : m->value;
}

// Whether queues grow through the run: the last quarter of the time has more waiting requests than
// the third, that more than the second, each by half, and more than a step takes.
bool grows(const Point& p) {
  constexpr double kHalf = 1.5, kFew = 8;
  const double q2 = value(p, "waiting_q2"), q3 = value(p, "waiting_q3"),
               q4 = value(p, "waiting_q4");
  return q4 > kFew && q4 > kHalf * q2 && q3 > kHalf * q2;
}

}  // namespace

std::int64_t Trials::requests_at(double rate) const {
  const ServiceQuestion& service = question_.as<PlanQuestion>().service;
  if (!service.trace.empty()) return service.sent();
  const auto least = static_cast<std::int64_t>(std::ceil(kLeastTime * rate));
  return std::max(service.sent(), std::min(least, kMostRequests));
}

Scenario Trials::at(const FleetPlan& fleet, double rate) const {
  Scenario s = fleet.service(question_);
  auto& service = std::get<ServiceQuestion>(s.asked);
  service.requests = requests_at(rate);
  if (service.trace.empty()) {
    service.rate = rate;
  } else if (load_.rate > 0) {
    service.time_scale *= load_.rate / rate;
  }
  return s;
}

double Trials::deviations() const {
  return normal_quantile(question_.as<PlanQuestion>().choice.confidence / 100);
}

bool Trials::kept(const Point& p) {
  return p.feasibility.fits && p.meets_slo.value_or(true) && !grows(p);
}

const Trials::Tried& Trials::tried(const FleetPlan& fleet, double rate) {
  const auto key = std::pair(fleet.name(), rate);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const Scenario s = at(fleet, rate);
  const std::int64_t seed = s.as<ServiceQuestion>().seed;
  Tried& out = known_[key];
  try {
    const Point p = again(fleet, rate, seed, deviations(), false);
    out = {kept(p), value(p, "energy_per_request")};
  } catch (const Infeasible&) {
  }
  return out;
}

Point Trials::again(const FleetPlan& fleet, double rate, std::int64_t seed, double deviations,
                    bool intervals) {
  Scenario s = at(fleet, rate);
  std::get<ServiceQuestion>(s.asked).seed = seed;
  RunOptions options;
  options.breakdown = options.resolved = false;
  options.intervals = intervals;
  options.deviations = deviations;
  ++simulations_;
  return runner_.run(s, options).points.front();
}

}  // namespace orrery
