#include "orrery/scenario/service/service_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/scenario/service/cluster_metrics.h"

namespace orrery {
namespace {

Metric rate_with_interval(const char* name, const ServiceScenario& service,
                          const SimulationConfig& config, const MakeClocks& clocks, Origin origin,
                          bool intervals) {
  double value = 0, fast = 0, slow = 0;
  const auto search = [&](StepScale scale, double& rate) {
    try {
      rate = max_rate(service, config, clocks, scale);
    } catch (const Infeasible&) {
      rate = 0;  // with such steps one request alone is too slow
    }
  };
  std::vector<Job> jobs = {[&] { value = max_rate(service, config, clocks); }};
  if (intervals) {
    jobs.emplace_back([&] { search(fast_steps(), fast); });
    jobs.emplace_back([&] { search(slow_steps(), slow); });
  }
  side_by_side(jobs, service.requests);
  Metric m = exact_metric(name, "requests/s", value);
  m.origin = origin;
  if (intervals) set_interval(m, fast, slow);
  return m;
}

}  // namespace

double max_rate(const ServiceScenario& service, const SimulationConfig& config,
                const MakeClocks& make_clocks, StepScale scale) {
  if (!service.slo.any())
    throw InputError("the highest rate that meets an SLO needs one: slo.ttft, slo.tpot or slo.e2e");
  if (!service.trace.empty() || service.max_concurrency > 0)
    throw InputError("the highest rate is sought with generated arrivals, without max_concurrency");
  const Clocks clocks = make_clocks(scale);
  std::vector<std::string> notes;
  const auto good = [&](double rate) {
    const SimulationResult r = simulate(config, load_of(service, rate, notes), clocks.view());
    const auto refused = std::count_if(r.records.begin(), r.records.end(), [](const auto& q) {
      return q.outcome == Outcome::kTooLong || q.outcome == Outcome::kNeverFits;
    });
    if (refused > 0)
      throw Infeasible(fmt::format(
          "{} of {} requests can never run (longer than the model's context, or than the "
          "whole KV cache): no rate serves all",
          refused, r.records.size()));
    return meets_slo(service, r);
  };
  constexpr double kLeast = 1e-3, kMost = 1e6, kClose = 1.01;
  double low = 1, high = 1;
  if (good(low)) {
    while (good(high *= 2)) {
      low = high;
      if (high > kMost)
        throw InputError(
            fmt::format("all {} requests meet the SLO even if they come at once: too few to find "
                        "the highest rate; raise load.requests",
                        service.requests));
    }
  } else {
    while (!good(low /= 2)) {
      high = low;
      if (low < kLeast) throw Infeasible("no rate meets the SLO: one request alone misses it");
    }
  }
  while (high / low > kClose) {
    const double middle = std::sqrt(low * high);
    (good(middle) ? low : high) = middle;
  }
  return low;
}

double add_max_rates(const ServiceScenario& service, const SimulationConfig& config,
                     const MakeClocks& clocks, Origin origin, bool intervals, Point& point) {
  const auto add = [&](const char* name, const SimulationConfig& c) {
    point.metrics.push_back(rate_with_interval(name, service, c, clocks, origin, intervals));
    return point.metrics.back().value;
  };
  const double rate = add("max_rate", config);
  if (config.replica.role == Role::kPrefill) add("collocated_max_rate", collocated(config));
  return rate;
}

}  // namespace orrery
