#include "orrery/scenario/kinds/service/service_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/figures/service_figures.h"
#include "orrery/serving/requests/arrivals.h"

namespace orrery {
namespace {

constexpr double kLeastRate = 1e-3, kMostRate = 1e6;  // requests/s
constexpr double kClose = 1.01;                       // of two rates that end the bisection
constexpr double kEveryRate = std::numeric_limits<double>::infinity();

// The highest rate; kEveryRate if no rate misses the SLO. The first steps away from `start` are
// factors of `step`, the later ones larger.
double bracket_and_bisect(const MeetsSlo& meets, std::int64_t requests, double start, double step) {
  double low = start, high = start;
  const auto widen = [&step] { return std::exchange(step, std::min(2.0, step * step)); };
  if (meets(low, requests)) {
    while (meets(high *= widen(), requests)) {
      low = high;
      if (high > kMostRate) return kEveryRate;
    }
  } else {
    while (!meets(low /= widen(), requests)) {
      high = low;
      if (low < kLeastRate) throw Infeasible("no rate meets the SLO: one request alone misses it");
    }
  }
  while (high / low > kClose) {
    const double middle = std::sqrt(low * high);
    (meets(middle, requests) ? low : high) = middle;
  }
  return low;
}

// The load of a service at a rate that is tried.
class TriedLoad {
 public:
  explicit TriedLoad(const ServiceQuestion& service) : service_(service) {
    if (service.trace.empty()) return;
    bool rated = true;
    std::vector<std::string> notes;
    const RequestLoad load = load_of(service, 1, notes, &rated);
    total_ = static_cast<std::int64_t>(load.requests.size());
    if (!rated) own_rate_ = mean_rate(load);
  }

  bool traced() const { return !service_.trace.empty(); }
  // The mean rate of arrivals of a trace that has its own; 0 for other loads.
  double own_rate() const { return own_rate_; }

  // The least length at which the rate may stand: fifty requests lie above the SLO's percentile. A
  // generated load has kLeast, too, since queues near the limit grow over thousands of requests.
  std::int64_t enough() const {
    double highest = 0;
    for (const auto& [limit, own] : {std::pair{service_.slo.ttft, service_.slo.ttft_percentile},
                                     {service_.slo.tpot, service_.slo.tpot_percentile},
                                     {service_.slo.e2e, service_.slo.e2e_percentile}}) {
      if (limit > Seconds(0)) highest = std::max(highest, own.value_or(service_.slo.percentile));
    }
    for (const SloClass& c : service_.slo.classes) highest = std::max(highest, c.percentile);
    constexpr double kAbove = 50;
    constexpr std::int64_t kMost = 5000;
    constexpr std::int64_t kLeast = 4000;
    const double above = 1 - highest / 100;
    const std::int64_t least = traced() ? 1 : kLeast;
    return above * kMost <= kAbove ? kMost
                                   : std::max<std::int64_t>(least, std::llround(kAbove / above));
  }

  // The lengths with which the search begins and ends.
  std::int64_t first() const {
    if (!traced()) return service_.sent();
    return total_ / 2 >= enough() ? total_ / 2 : total_;
  }
  std::int64_t most() const { return traced() ? total_ : std::max(kLongest, 32 * first()); }

  // The service with `requests` requests that arrive at `rate`.
  ServiceQuestion at(double rate, std::int64_t requests) const {
    ServiceQuestion s = service_;
    s.requests = requests;
    if (own_rate_ > 0) s.time_scale *= own_rate_ / rate;
    return s;
  }

 private:
  static constexpr std::int64_t kLongest = 128'000;

  double mean_rate(const RequestLoad& load) const {
    std::int64_t arrivals = 0;
    SimTime last;
    for (std::size_t i = 0; i < load.requests.size(); ++i) {
      if (load.waits(i)) continue;
      ++arrivals;
      last = std::max(last, load.requests[i].arrival);
    }
    if (last.seconds() <= 0)
      throw InputError(fmt::format(
          "load.find_max_rate: all requests of {} arrive at once: there is no rate to scale",
          service_.trace));
    return static_cast<double>(arrivals - 1) / last.seconds();
  }

  const ServiceQuestion& service_;
  std::int64_t total_ = 0;  // requests of the trace
  double own_rate_ = 0;
};

// Simulates the load at the rates that are tried, with its own clocks.
MeetsSlo simulated(const TriedLoad& load, const SimulationConfig& config, const MakeClocks& make,
                   StepScale scale) {
  auto clocks = std::make_shared<const Clocks>(make(scale));
  return [&load, &config, clocks](double rate, std::int64_t requests) {
    const ServiceQuestion service = load.at(rate, requests);
    std::vector<std::string> notes;
    const SimulationResult r = simulate(config, load_of(service, rate, notes), clocks->view());
    const auto refused = std::count_if(r.records.begin(), r.records.end(), [](const auto& q) {
      return q.outcome == Outcome::kTooLong || q.outcome == Outcome::kNeverFits;
    });
    if (refused > 0)
      throw Infeasible(fmt::format(
          "{} of {} requests can never run (longer than the model's context, or than the "
          "whole KV cache): no rate serves all",
          refused, r.records.size()));
    return service_figures(service.slo, service.margins, config, r).meet_slo;
  };
}

void check_searchable(const ServiceQuestion& service) {
  if (!service.slo.any())
    throw InputError("the highest rate that meets an SLO needs one: slo.ttft, slo.tpot or slo.e2e");
  if (service.max_concurrency > 0)
    throw InputError(
        "load.find_max_rate: not supported with load.max_concurrency, because a closed loop has no "
        "rate of arrivals");
  if (!arrival_kind(service.arrivals).reads.rate)
    throw InputError("load.find_max_rate: needs load.arrivals that have a rate");
}

// How the search came to its rate.
void add_notes(const RateSearch& s, const TriedLoad& load, const ServiceQuestion& service,
               Point& p) {
  if (const double own = load.own_rate(); own > 0) {
    p.notes.push_back(
        fmt::format("max_rate: the arrivals of {} scaled from {:.4g} requests/s by {:.4g} "
                    "(load.time_scale {:.4g})",
                    service.trace, own, s.rate / own, service.time_scale * own / s.rate));
  }
  const std::string shorter =
      load.traced() ? "the first half of the trace gives" : fmt::format("{} give", s.requests / 2);
  if (!s.refused.empty()) {
    p.notes.push_back(fmt::format("max_rate: of {} requests; a longer load has no answer: {}",
                                  s.requests, s.refused));
  } else if (s.settled) {
    p.notes.push_back(fmt::format("max_rate: found with {} requests; {} {:.4g}, within {:.0f} %",
                                  s.requests, shorter, s.shorter, 100 * kRateTolerance));
  } else if (s.shorter > 0) {
    p.notes.push_back(fmt::format(
        "max_rate has not settled: {} requests give {:.4g}, {} {:.4g}; a longer {} may give "
        "another rate",
        s.requests, s.rate, shorter, s.shorter, load.traced() ? "trace" : "load (load.requests)"));
  } else {
    p.notes.push_back(fmt::format(
        "max_rate: {} requests are too few to tell whether a longer {} gives another rate",
        s.requests, load.traced() ? "trace" : "load"));
  }
  const auto list = [](const std::vector<double>& rates) {
    std::string out;
    for (const double r : rates) out += fmt::format("{}{:.4g}", out.empty() ? "" : ", ", r);
    return out;
  };
  if (!s.missed_below.empty())
    p.notes.push_back(
        fmt::format("attainment is not monotone in the rate: the SLO is missed at {} requests/s, "
                    "below max_rate",
                    list(s.missed_below)));
  if (!s.met_above.empty())
    p.notes.push_back(
        fmt::format("attainment is not monotone in the rate: the SLO is met again at {} "
                    "requests/s, above max_rate",
                    list(s.met_above)));
}

// The jobs that check_rates() does one after another.
std::vector<Job> check_jobs(RateSearch& search, const std::function<MeetsSlo()>& make,
                            std::vector<char>& met) {
  std::vector<double> rates;
  for (const double f : kCheckedBelow) rates.push_back(f * search.rate);
  for (const double f : kCheckedAbove) rates.push_back(f * search.rate);
  met.assign(rates.size(), 0);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    jobs.emplace_back([&met, i, rate = rates[i], requests = search.requests, make] {
      met[i] = make()(rate, requests) ? 1 : 0;
    });
  }
  return jobs;
}

void take_checks(const std::vector<char>& met, RateSearch& search) {
  constexpr std::size_t kBelow = std::size(kCheckedBelow);
  for (std::size_t i = 0; i < kBelow; ++i)
    if (met[i] == 0) search.missed_below.push_back(kCheckedBelow[i] * search.rate);
  for (std::size_t i = kBelow; i < met.size(); ++i)
    if (met[i] != 0) search.met_above.push_back(kCheckedAbove[i - kBelow] * search.rate);
}

}  // namespace

double highest_rate(const MeetsSlo& meets, std::int64_t requests, double start) {
  constexpr double kFirstStep = 1.1;
  return bracket_and_bisect(meets, requests, start, kFirstStep);
}

RateSearch search_rate(const MeetsSlo& meets, std::int64_t first, std::int64_t most,
                       std::int64_t enough) {
  RateSearch s;
  for (std::int64_t n = first;;) {
    double rate = 0;
    try {
      rate = s.rate > 0 ? highest_rate(meets, n, s.rate) : bracket_and_bisect(meets, n, 1, 2);
    } catch (const Infeasible& e) {
      if (s.rate == 0) throw;
      s.refused = e.what();
      return s;
    }
    if (rate == kEveryRate && n >= most)
      throw InputError(
          fmt::format("all {} requests meet the SLO even if they come at once: too few to find "
                      "the highest rate; raise load.requests",
                      n));
    s.requests = n;
    s.shorter = s.rate;
    s.rate = rate == kEveryRate ? 0 : rate;
    s.settled = s.shorter > 0 && s.rate > 0 && n >= enough &&
                std::abs(s.rate / s.shorter - 1) <= kRateTolerance;
    if (s.settled || n >= most) return s;
    n = 2 * n + 1 >= most ? most : 2 * n;
  }
}

void check_rates(const MeetsSlo& meets, RateSearch& search) {
  std::vector<char> met;
  for (const Job& job : check_jobs(search, [&] { return meets; }, met)) job();
  take_checks(met, search);
}

FoundRate add_max_rates(const ServiceQuestion& service, const SimulationConfig& config,
                        const MakeClocks& clocks, Origin origin, bool intervals, Point& point) {
  check_searchable(service);
  const TriedLoad load(service);
  RateSearch search =
      search_rate(simulated(load, config, clocks, 1), load.first(), load.most(), load.enough());

  std::vector<char> met;
  std::vector<Job> jobs =
      check_jobs(search, [&] { return simulated(load, config, clocks, 1); }, met);
  const auto rate_of = [&](const SimulationConfig& c, StepScale scale, double& rate) {
    jobs.emplace_back([&load, &clocks, &search, c, scale, &rate] {
      try {
        rate = std::min(kMostRate, highest_rate(simulated(load, c, clocks, scale), search.requests,
                                                search.rate));
      } catch (const Infeasible&) {
        rate = 0;  // with such steps one request alone is too slow
      }
    });
  };
  double fast = 0, slow = 0, together = 0, fast_together = 0, slow_together = 0;
  const bool apart = compared_with_collocated(config);
  if (intervals) rate_of(config, fast_steps(), fast), rate_of(config, slow_steps(), slow);
  if (apart) rate_of(collocated(config), 1, together);
  if (apart && intervals) {
    rate_of(collocated(config), fast_steps(), fast_together);
    rate_of(collocated(config), slow_steps(), slow_together);
  }
  side_by_side(jobs, search.requests);
  take_checks(met, search);

  const auto add = [&](std::string name, double value, double low, double high) {
    Metric m = exact_metric("max_rate", value);
    m.name = std::move(name);
    m.origin = origin;
    if (intervals) set_interval(m, low, high);
    point.metrics.push_back(std::move(m));
  };
  add("max_rate", search.rate, fast, slow);
  if (apart) add("collocated_max_rate", together, fast_together, slow_together);
  add_notes(search, load, service, point);
  return {search.rate, load.at(search.rate, search.requests)};
}

}  // namespace orrery
