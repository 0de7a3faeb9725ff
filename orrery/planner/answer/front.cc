#include "orrery/planner/answer/front.h"

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/verify/race_in_rounds.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

constexpr double kTighter = 0.9, kJustBelow = 1 - 1e-6;
constexpr int kMostLimits = 60;           // 0.9 to this power is 0.002 of the first limit
constexpr Seconds kNoLimit(24 * 3600.0);  // at which a question without the limit begins

// A limit that was asked, and the best plan within it.
struct Asked {
  Scenario question;
  RacedFleet best;
};

class Walk {
 public:
  Walk(Runner& runner, const PlannedLoad& load, Trials& trials, SloLimit limit)
      : runner_(runner), load_(load), trials_(trials), limit_(limit) {}

  // All limits below that of the question, the loosest first; plans that stay are there once.
  void go(Scenario question, RacedFleet best) {
    Seconds at = allowed(slo_of(question), limit_);
    if (at <= Seconds(0)) at = kNoLimit;
    planned(question).choice.top = 1;
    steps_.push_back({question, best});
    while (++limits < kMostLimits) {
      const std::optional<double> own = figure(question, best, at);
      at = kTighter * at;
      if (own) at = std::min(at, kJustBelow * milliseconds(*own));
      allow(planned(question).service.slo, limit_, at);
      Trials trials(trials_, question);
      const FirstStage first = first_stage(runner_, question, load_, trials_.context());
      if (first.options.empty()) return;
      RaceResult raced = race_in_rounds(question, load_, first, trials);
      trials_.learn(trials);
      if (raced.best.empty()) return;
      best = std::move(raced.best.front());
      const RacedFleet& last = steps_.back().best;
      const bool stays = best.fleet.name() == last.fleet.name() && best.rate == last.rate;
      if (!stays) steps_.push_back({question, best});
    }
  }

  std::vector<FrontPlan> proved() {
    std::vector<FrontPlan> out;
    for (Asked& step : steps_) {
      Trials trials(trials_, step.question);
      std::vector<Proof> proof = prove_all(step.question, {step.best}, trials);
      trials_.learn(trials);
      if (!proof.empty()) out.push_back({std::move(step.question), std::move(proof.front())});
    }
    return out;
  }

  std::int64_t limits = 0;

 private:
  static const ServiceLevels& slo_of(const Scenario& s) { return planned(s).service.slo; }
  // ms, at the slowest level at which the plan keeps the limit.
  std::optional<double> figure(Scenario question, const RacedFleet& r, Seconds at) {
    allow(planned(question).service.slo, limit_, at);
    Trials trials(trials_, question);
    const auto out = trials.figure(limit_, r.fleet.at_work(), r.rate, r.slowest);
    trials_.learn(trials);
    return out;
  }

  Runner& runner_;
  const PlannedLoad& load_;
  Trials& trials_;
  SloLimit limit_;
  std::vector<Asked> steps_;
};

// Whether `other` is no worse in both, and better in one; of equal plans the first one stays.
bool beats(const FrontPlan& other, const FrontPlan& one, SloLimit limit, bool most) {
  const auto figure = [limit](const FrontPlan& p) {
    const Metric* m = p.proof.point.find(metric_of(planned(p.question).service.slo, limit));
    return m == nullptr ? 0 : m->value;
  };
  const double sign = most ? -1 : 1;
  const double value = sign * (other.proof.raced.value - one.proof.raced.value);
  const double time = figure(other) - figure(one);
  return value <= 0 && time <= 0 && (value < 0 || time < 0);
}

}  // namespace

SloLimit front_limit(const PlanChoice& plan) {
  for (const SloLimit limit : kSloLimits)
    if (name_of(limit) == plan.front) return limit;
  throw InputError("plan.front: expected ttft, tpot or e2e");
}

Front find_front(Runner& runner, const Scenario& question, const PlannedLoad& load,
                 const RaceResult& loosest, Trials& trials) {
  const PlanChoice& plan = planned(question).choice;
  const SloLimit limit = front_limit(plan);
  Walk walk(runner, load, trials, limit);
  Front out;
  try {
    walk.go(question, loosest.best.at(0));
  } catch (const Stopped&) {
    out.complete = false;
  }
  out.limits = walk.limits;
  const std::vector<FrontPlan> all = walk.proved();
  const bool most = plan.objective == PlanObjective::kThroughput;
  for (const FrontPlan& p : all) {
    const auto beaten = [&](const FrontPlan& o) { return beats(o, p, limit, most); };
    if (std::none_of(all.begin(), all.end(), beaten)) out.plans.push_back(p);
  }
  out.complete = out.complete && !trials.context().stopped();
  return out;
}

}  // namespace orrery
