#include "orrery/planner/answer/closest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/verify/race.h"
#include "orrery/planner/verify/trials.h"
#include "orrery/scenario/answer/figures.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

constexpr double kAmple = 2;     // engines over those that the closed form asks for
constexpr double kLight = 0.1;   // load of engines, where the question states no rate
constexpr double kLoose = 1e12;  // a limit that everything keeps, over the asked one

Scenario without_stock(Scenario question) {
  auto& choice = planned(question).choice;
  choice.gpus = 0, choice.budget = 0, choice.top = 1;
  for (std::string& gpu : choice.gpu) gpu = GpuStock::parse(gpu).gpu;
  return question;
}

Scenario without_limits(Scenario question) {
  auto& slo = planned(question).service.slo;
  for (Seconds* limit : {&slo.ttft, &slo.tpot, &slo.e2e}) *limit = *limit * kLoose;
  for (SloClass& c : slo.classes)
    for (Seconds* limit : {&c.ttft, &c.tpot, &c.e2e}) *limit = *limit * kLoose;
  return question;
}

// The GPUs or money of the fleet beyond those of the question.
std::string lack(const PlanChoice& choice, const FleetPlan& fleet, double hour) {
  if (choice.gpus > 0 && fleet.gpus() > choice.gpus)
    return fmt::format("it needs {} GPUs; plan.gpus is {}", fleet.gpus(), choice.gpus);
  for (const std::string& text : choice.gpu) {
    const GpuStock stock = GpuStock::parse(text);
    if (stock.gpu == fleet.engine.gpu.gpu && stock.gpus > 0 && fleet.gpus() > stock.gpus)
      return fmt::format("it needs {} {}; the stock is {}", fleet.gpus(), stock.gpu, stock.gpus);
  }
  if (choice.budget > 0 && hour * kHoursOfMonth > choice.budget)
    return fmt::format("it costs {:.0f} USD a month; plan.budget is {:.0f}", hour * kHoursOfMonth,
                       choice.budget);
  return "it needs more than is allowed";
}

// The best plan if GPUs and money were no limit; empty: there is none either.
std::string beyond_stock(Runner& runner, const Scenario& question, const PlannedLoad& load,
                         SearchContext& context) {
  const PlanChoice& choice = planned(question).choice;
  if (choice.objective == PlanObjective::kThroughput) return "";
  const Scenario free = without_stock(question);
  const FirstStage first = first_stage(runner, free, load, context);
  if (first.options.empty()) return "";
  Trials trials(runner, free, load, context);
  const RaceResult raced = race(free, load, first, trials);
  if (raced.best.empty()) return "";
  const FleetPlan& fleet = raced.best.front().fleet;
  double hour = 0;
  for (const RatedOption& o : first.options) {
    if (o.option.name() == fleet.engine.name())
      hour =
          o.bound.hour / static_cast<double>(o.option.gpus()) * static_cast<double>(fleet.gpus());
  }
  return fmt::format("the closest is {}: {}", fleet.name(), lack(choice, fleet, hour));
}

// The largest of the figures of a request alone over its limits. A mean request, whatever the
// percentile: less than any share of requests near one keeps.
double alone(const ServiceLevels& slo, const EngineBound& bound) {
  const double ms = milliseconds(1).value();
  double out = 0;
  if (slo.ttft > Seconds(0)) out = std::max(out, bound.ttft * ms / slo.ttft.value());
  if (slo.tpot > Seconds(0)) out = std::max(out, bound.tpot * ms / slo.tpot.value());
  return out;
}

std::string beyond_limits(Runner& runner, const Scenario& question, const PlannedLoad& load,
                          SearchContext& context) {
  const PlanQuestion& q = planned(question);
  FirstStage first = first_stage(runner, without_limits(question), load, context);
  std::stable_sort(first.options.begin(), first.options.end(),
                   [&](const RatedOption& a, const RatedOption& b) {
                     return alone(q.service.slo, a.bound) < alone(q.service.slo, b.bound);
                   });
  Trials trials(runner, question, load, context);
  std::optional<NearestLimit> best;
  FleetPlan fleet;
  for (const RatedOption& o : first.options) {
    if (best && load.equal && alone(q.service.slo, o.bound) >= best->ratio()) break;
    const std::int64_t most = most_engines(q.choice, o, 0, 0);
    if (most < 1) continue;
    FleetPlan own;
    own.engine = o.option;
    own.engines = most;
    if (load.rate > 0)
      own.engines = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(std::ceil(kAmple * load.rate / o.bound.likely)), 1, most);
    const double rate =
        load.rate > 0 ? load.rate : kLight * o.bound.likely * static_cast<double>(own.engines);
    try {
      const Point p = trials.again(own, rate, q.service.seed, trials.deviations(), false);
      const auto limit = nearest_limit(q.service.slo, p);
      if (limit && (!best || limit->ratio() < best->ratio())) best = limit, fleet = own;
    } catch (const Infeasible&) {
    }
  }
  if (!best) return "";
  return fmt::format("the closest is {}: {} is {:.4g} ms, {:.3g} times the limit of {:.4g} ms",
                     fleet.name(), best->metric, best->value, best->ratio(), best->limit);
}

}  // namespace

std::optional<NearestLimit> nearest_limit(const ServiceLevels& slo, const Point& point) {
  std::optional<NearestLimit> out;
  const auto look = [&](const std::string& name, Seconds limit, const std::optional<double>& own) {
    if (limit <= Seconds(0)) return;
    const Metric* m = point.find(percentile_name(name, own.value_or(slo.percentile)));
    if (m == nullptr) return;
    const NearestLimit found = {m->name, m->value, limit / milliseconds(1)};
    if (!out || found.ratio() > out->ratio()) out = found;
  };
  look("ttft", slo.ttft, slo.ttft_percentile);
  look("tpot", slo.tpot, slo.tpot_percentile);
  look("e2e", slo.e2e, slo.e2e_percentile);
  for (const SloClass& c : slo.classes) {
    for (const auto& [what, limit] : {std::pair{"ttft", c.ttft}, {"tpot", c.tpot}, {"e2e", c.e2e}})
      look(fmt::format("{}_class_{}", what, c.name), limit, c.percentile);
  }
  return out;
}

std::string closest_plan(Runner& runner, const Scenario& question, const PlannedLoad& load,
                         SearchContext& context) {
  std::string out = beyond_stock(runner, question, load, context);
  return out.empty() ? beyond_limits(runner, question, load, context) : out;
}

}  // namespace orrery
