// Simulations of fleets under the load of the question.
//
// All fleets are tried with the same requests at a rate: their arrivals and lengths depend on the
// seed alone, so that fleets differ by what they are and not by luck. A fleet keeps the limits if
// the percentiles of the SLO do, no request is refused, and its queues do not grow: without that
// check a limit on TPOT alone would hold at any rate.
//
// Fleets are tried with a part of a long trace (PlannedLoad::part); again() simulates all of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/planner/bound/planned_load.h"
#include "orrery/planner/space/fleet_plan.h"
#include "orrery/planner/space/question_keys.h"
#include "orrery/planner/verify/fleet_judge.h"
#include "orrery/planner/verify/slo_limits.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

class Trials : public FleetJudge {
 public:
  // Borrows everything. REQUIRES a PlanQuestion.
  Trials(Runner& runner, const Scenario& question, const PlannedLoad& load, SearchContext& context)
      : runner_(runner), question_(question), load_(load), context_(context), keys_(question) {}
  // Trials of the same question that remember and count by themselves.
  Trials apart() const { return {runner_, question_, load_, context_}; }
  // The same for another form of the load, which it borrows.
  Trials with(const PlannedLoad& load) const { return {runner_, question_, load, context_}; }
  SearchContext& context() const { return context_; }
  // The same load for a question with other limits, GPUs or money.
  Trials(const Trials& other, const Scenario& question);
  // Takes over what `other` has simulated of the same load, judged by the limits of this question,
  // as far as its percentiles are among those of an answer.
  void learn(const Trials& other);

  // All remember what they were asked.
  bool meets(const FleetPlan& fleet, double rate) override {
    return result(fleet, rate, kAtConfidence).met;
  }
  bool meets_at(const FleetPlan& fleet, double rate, int level) override {
    return result(fleet, rate, level).met;
  }
  double energy_per_request(const FleetPlan& fleet, double rate) override {
    return result(fleet, rate, kAtConfidence).energy;
  }

  // The figure of a limit in the simulation at a level, or at PlanChoice::confidence, ms at the
  // percentile of the question; none: the queues grow, a request is refused, or the answer has no
  // such percentile.
  static constexpr int kAtConfidence = -1;
  std::optional<double> figure(SloLimit limit, const FleetPlan& fleet, double rate,
                               int level = kAtConfidence);

  // The answer for the fleet with requests of another seed, every step at `deviations` standard
  // deviations. `intervals`: with further simulations for its intervals.
  Point again(const FleetPlan& fleet, double rate, std::int64_t seed, double deviations,
              bool intervals);
  static bool kept(const Point& point);
  // The standard deviations of PlanChoice::confidence, with which fleets are tried.
  double deviations() const;

  std::int64_t simulations() const { return simulations_; }
  // Counts the simulations of another search as its own.
  void count(const Trials& other) { simulations_ += other.simulations_; }

 private:
  struct TrialResult {
    bool met = false, sound = false;  // sound: it serves all requests, and its queues do not grow
    double energy = 0;                // J a request
    SloFigures figures;
  };
  const TrialResult& result(const FleetPlan& fleet, double rate, int level);
  // The answer for a scenario of the fleet, without the parts that no search reads.
  Point simulated(const FleetPlan& fleet, const Scenario& scenario, RunOptions options);
  // Requests of a trial at a rate: those of the question, but at least a minute's.
  std::int64_t requests_at(double rate) const;
  Scenario at(const FleetPlan& fleet, double rate) const;
  std::string key(const FleetPlan& fleet, const Scenario& service, const RunOptions& options);

  Runner& runner_;
  const Scenario& question_;
  const PlannedLoad& load_;
  SearchContext& context_;
  QuestionKeys keys_;
  std::map<std::tuple<std::string, double, int>, TrialResult> known_;  // by fleet, rate and level
  std::int64_t simulations_ = 0;
};

}  // namespace orrery
