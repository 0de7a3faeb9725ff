#include "orrery/planner/verify/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/scenario/answer/prospect.h"
#include "orrery/scenario/kinds/service/service_question.h"

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
  const ServiceQuestion& service = planned(question_).service;
  if (!service.trace.empty()) return service.sent();
  const auto least = static_cast<std::int64_t>(std::ceil(kLeastTime * rate));
  return std::max(service.sent(), std::min(least, kMostRequests));
}

Scenario Trials::at(const FleetPlan& fleet, double rate) const {
  Scenario s = fleet.service(question_);
  auto& service = s.ask<ServiceQuestion>();
  service.requests = requests_at(rate);
  if (service.trace.empty()) {
    service.rate = rate;
  } else if (load_.rate > 0) {
    service.time_scale *= load_.rate / rate;
  }
  return s;
}

std::string Trials::key(const FleetPlan& fleet, const Scenario& service,
                        const RunOptions& options) {
  const auto& q = service.as<ServiceQuestion>();
  std::string what = fmt::format(
      "service, {}, rate {}, time scale {}, requests {}, seed {}, "
      "deviations {}, intervals {}",
      fleet.name(), exact_number(q.rate), exact_number(q.time_scale), q.sent(), q.seed,
      exact_number(options.deviations), options.intervals);
  if (options.load != nullptr) what += fmt::format(", a part of {}", options.load->requests.size());
  return keys_.key(what, fleet.engine.gpu.gpu);
}

double Trials::deviations() const {
  return normal_quantile(planned(question_).choice.confidence / 100);
}

bool Trials::kept(const Point& p) {
  return p.feasibility.fits && p.meets_slo.value_or(true) && !grows(p);
}

Trials::Trials(const Trials& other, const Scenario& question)
    : Trials(other.runner_, question, other.load_, other.context_) {
  learn(other);
}

void Trials::learn(const Trials& other) {
  simulations_ = std::max(simulations_, other.simulations_);
  const auto& slo = planned(question_).service.slo;
  for (const auto& [key, tried] : other.known_) {
    if (!tried.sound) {
      known_.emplace(key, tried);
    } else if (const auto met = tried.figures.keep(slo)) {
      const auto [at, added] = known_.emplace(key, tried);
      if (added) at->second.met = *met;
    }
  }
}

std::optional<double> Trials::figure(SloLimit limit, const FleetPlan& fleet, double rate,
                                     int level) {
  const TrialResult& t = result(fleet, rate, level);
  return t.sound ? t.figures.of(limit) : std::nullopt;
}

const Trials::TrialResult& Trials::result(const FleetPlan& fleet, double rate, int level) {
  const auto key = std::tuple(fleet.name(), rate, level);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  Scenario s = at(fleet, rate);
  TrialResult& out = known_[key];
  try {
    RunOptions options;
    options.intervals = false;
    options.deviations = level == kAtConfidence ? deviations() : deviations_at(level);
    RequestLoad part;
    if (load_.part) {
      part = at_times_rate(*load_.part, rate / load_.rate);
      options.load = &part;
      auto& service = s.ask<ServiceQuestion>();
      const auto of = static_cast<std::int64_t>(part.requests.size());
      Margins& left_out = service.margins;
      left_out.warmup = left_out.warmup * of / load_.requests;
      left_out.cooldown = left_out.cooldown * of / load_.requests;
    }
    const Point p = simulated(fleet, s, options);
    out.met = kept(p);
    out.sound = p.feasibility.fits && !grows(p) && value(p, "rejected") == 0;
    out.energy = value(p, "energy_per_request");
    out.figures = SloFigures(s.as<ServiceQuestion>().slo, p);
  } catch (const Infeasible&) {
  }
  return out;
}

Point Trials::again(const FleetPlan& fleet, double rate, std::int64_t seed, double deviations,
                    bool intervals) {
  Scenario s = at(fleet, rate);
  s.ask<ServiceQuestion>().seed = seed;
  RunOptions options;
  options.intervals = intervals;
  options.deviations = deviations;
  return simulated(fleet, s, options);
}

Point Trials::simulated(const FleetPlan& fleet, const Scenario& s, RunOptions options) {
  options.breakdown = options.resolved = false;
  ++simulations_;
  return context_.point([&] { return key(fleet, s, options); },
                        [&] { return runner_.run(s, options).points.front(); });
}

}  // namespace orrery
