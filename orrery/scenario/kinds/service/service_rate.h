// The highest rate of arrivals at which a simulated service meets its SLO.
//
// The search doubles or halves the rate until one rate meets the SLO and one misses it, and then
// bisects until they lie within 1 %. All simulations have the same seed: they differ in the rate of
// arrivals only.
//
// A load with few requests ends before its queues have grown, and then a rate above the capacity of
// the service meets the SLO too. Therefore the search is repeated with twice as many requests until
// the rates of two successive lengths agree within 2 %, up to 128,000 requests or 32 times the
// length asked for. A trace has no further requests: there the rates of its first half and of the
// whole are compared.
//
// A trace with arrivals of its own is stretched or compressed in time (load.time_scale) until its
// mean rate of arrivals is the rate that is tried.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/scenario/kinds/service/service_answer.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

// Relative difference at which the rates of two lengths of the load agree.
inline constexpr double kRateTolerance = 0.02;

// Whether a load of `requests` requests that arrive at `rate` requests/s meets the SLO.
using MeetsSlo = std::function<bool(double rate, std::int64_t requests)>;

struct RateSearch {
  double rate = 0;            // requests/s
  std::int64_t requests = 0;  // length of the load that gave `rate`
  double shorter = 0;         // the rate that the load half as long gave; 0: none was tried
  bool settled = false;       // `rate` and `shorter` agree within kRateTolerance
  std::string refused;        // why a longer load could not be tried; empty: it could
  // Rates that contradict a single limit: lower rates that miss the SLO, higher ones that meet it.
  std::vector<double> missed_below, met_above;
};

// Searches with `first`, 2 `first`, ... and at most `most` requests. Loads with fewer than `enough`
// requests are too short to settle. The search ends at the last length that has an answer if a
// longer load has none: long lengths may contain requests that can never run.
// InputError: `most` requests meet the SLO at any rate. Infeasible: one request alone misses it.
RateSearch search_rate(const MeetsSlo& meets, std::int64_t first, std::int64_t most,
                       std::int64_t enough = 0);
// The highest rate with loads of `requests` requests; the search begins at `start` requests/s.
double highest_rate(const MeetsSlo& meets, std::int64_t requests, double start);
// The rates, as multiples of the highest rate, at which check_rates() tries whether attainment
// falls steadily with the rate.
inline constexpr double kCheckedBelow[] = {0.5, 0.7, 0.8, 0.9};
inline constexpr double kCheckedAbove[] = {1.1, 1.25, 1.5, 2};
// Fills missed_below and met_above.
void check_rates(const MeetsSlo& meets, RateSearch& search);

// The outcome of the search in a scenario: the rate, and the service with the load that gave it.
struct FoundRate {
  double rate = 0;
  ServiceQuestion service;
};

// Adds the metric `max_rate` to the point, and `collocated_max_rate` if prefill and decode are
// disaggregated. With `intervals` the search is repeated with fast and slow steps. Notes say how
// many requests the rate took, how a trace was scaled, and rates that contradict a single limit.
//
// InputError: no SLO, a closed loop, arrivals without a rate, or too few requests for any rate to
// miss the SLO. Infeasible: one request alone misses it, or some requests can never run.
FoundRate add_max_rates(const ServiceQuestion& service, const SimulationConfig& config,
                        const MakeClocks& clocks, Origin origin, bool intervals, Point& point);

}  // namespace orrery
