#include "orrery/planner/answer/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/planner/answer/changes.h"
#include "orrery/planner/answer/closest.h"
#include "orrery/planner/answer/day.h"
#include "orrery/planner/answer/divided_planner.h"
#include "orrery/planner/answer/front.h"
#include "orrery/planner/answer/plan_point.h"
#include "orrery/planner/answer/robust.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/verify/proof.h"
#include "orrery/planner/verify/race_in_rounds.h"
#include "orrery/scenario/document/scenario_json.h"

namespace orrery {
namespace {

// InputError: a key that has no meaning for the plans of a front.
void check_front(const PlanQuestion& q) {
  const PlanChoice plain;
  const auto refuse = [](bool set, const char* key) {
    if (set) throw InputError(fmt::format("plan.front (objective pareto): without {}", key));
  };
  refuse(divides(q.choice), "plan.mixed and plan.others");
  refuse(q.choice.explain, "plan.explain");
  refuse(!q.choice.robust.empty(), "plan.robust");
  refuse(!q.choice.day.empty(), "plan.day");
  refuse(q.choice.top != plain.top, "plan.top, because all of its plans are shown");
  refuse(!q.service.slo.classes.empty(), "slo.classes");
}

// The question with the defaults of a plan.
Scenario asked(Scenario s) {
  const PlanQuestion& q = planned(s);
  if (!q.service.slo.any())
    throw InputError("a plan needs a limit: slo.ttft, slo.tpot or slo.e2e (--slo tpot:30ms)");
  if (q.service.find_max_rate)
    throw InputError("load.find_max_rate: a plan with plan.objective throughput seeks the rate");
  if (q.service.repeat > 1) throw InputError("load.repeat: a plan is proved with seeds of its own");
  if (q.choice.objective == PlanObjective::kTime)
    throw InputError(
        "plan.objective time is of training runs; of a service it is cost, gpus, energy, "
        "throughput or pareto");
  if (q.choice.objective == PlanObjective::kPareto) {
    auto& choice = planned(s).choice;
    choice.objective = PlanObjective::kCost;
    if (choice.front.empty()) choice.front = name_of(SloLimit::kTpot);
  }
  const bool money = q.choice.objective == PlanObjective::kCost || q.choice.budget > 0;
  if (money && !s.cost.asked()) s.cost.tier = "on_demand";
  const PlanChoice plain;
  const auto needs = [](bool idle, const char* key, const char* other) {
    if (idle) throw InputError(fmt::format("{}: has no effect without {}", key, other));
  };
  needs(q.choice.availability <= 0 && q.choice.repair != plain.repair, "plan.repair",
        "plan.availability");
  needs(q.choice.day.empty() && q.choice.startup != plain.startup, "plan.startup", "plan.day");
  needs(!q.choice.explain && !q.choice.what_if_gpu.empty(), "plan.what_if_gpu", "plan.explain");
  auto& asked = planned(s);
  if (!q.choice.day.empty()) {
    if (!q.service.trace.empty())
      throw InputError("plan.day is of generated loads; a trace has its own rates");
    asked.service.rate = *std::max_element(q.choice.day.begin(), q.choice.day.end());
    if (asked.service.rate <= 0) throw InputError("plan.day: no part of the day has a load");
  }
  if (!q.choice.robust.empty() && q.choice.objective == PlanObjective::kThroughput)
    throw InputError("plan.robust: objective throughput has no load that could differ");
  if (q.choice.explain && !q.service.slo.classes.empty())
    throw InputError("plan.explain: does not look for changes of slo.classes; leave one of them");
  if (!q.choice.front.empty()) check_front(q);
  if (divides(q.choice)) check_divided(q.choice);
  return s;
}

// Throws with the reasons why nothing serves, and with the plan that comes closest.
[[noreturn]] void refuse(Runner& runner, const Scenario& question, const PlannedLoad& load,
                         SearchContext& context, const std::string& why) {
  context.answer_alone();
  const std::string closest = closest_plan(runner, question, load, context);
  throw Infeasible(closest.empty() ? why : fmt::format("{}; {}", why, closest));
}

// How much more a plan takes, or serves, than another one.
std::string beside(PlanObjective objective, const Proof& one, const Proof& other,
                   const char* which) {
  constexpr const char* kWhat[] = {"USD an hour", "GPUs", "J a request", "requests/s"};
  return fmt::format("{:+.1f} % {} beside the {} plan",
                     100 * (other.raced.value / one.raced.value - 1), kWhat[index(objective)],
                     which);
}

// How a plan compares with the best one.
std::string compared(PlanObjective objective, const Proof& best, const Proof& other) {
  std::string out = beside(objective, best, other, "best");
  if (objective == PlanObjective::kThroughput || best.chance != other.chance)
    out += fmt::format(
        "; {:+.1f} % {}", 100 * (ranked_by(other, objective) / ranked_by(best, objective) - 1),
        objective == PlanObjective::kThroughput ? "of the expected rate" : "over the chance");
  return out;
}

// The engines of a plan over plan.day.
std::string day_note(const PlanChoice& plan, const RacedFleet& raced, Trials& trials) {
  if (raced.fleet.decode) return "plan.day: schedules are of aggregated plans alone";
  const DaySchedule day = plan_day(plan, raced.fleet, raced.slowest, trials);
  std::string engines;
  for (const std::int64_t n : day.engines) engines += fmt::format(" {}", n);
  return fmt::format(
      "a day: engines{}; {:.4g} GPU hours with {} starts, {:.4g} if engines started at once, "
      "{:.4g} "
      "with the engines of the peak all day",
      engines, day.gpu_hours, day.starts, day.perfect, day.peak);
}

void add_days(const PlanChoice& plan, const std::vector<FrontPlan>& proved, Trials& trials,
              Answer& answer) {
  for (std::size_t i = 0; i < proved.size() && !plan.day.empty(); ++i) {
    std::vector<std::string>& told = answer.points[i].notes;
    told.insert(told.begin() + 1, day_note(plan, proved[i].proof.raced, trials));
  }
}

// Adds what is said of a whole search: robust plans, and what would change the plan that the race
// ranked first. Stopped: the watcher ends the search.
void explain(Runner& runner, const Scenario& question, const PlannedLoad& load,
             const FirstStage& first, const RaceResult& raced, Trials& trials, Plans& out) {
  const PlanChoice& plan = planned(question).choice;
  std::vector<std::string>& told = out.answer.points.front().notes;
  if (!plan.robust.empty())
    for (const RobustPlan& r : robust_plans(runner, question, raced.best, trials.context()))
      told.push_back("robust: " + r.text());
  if (!plan.explain) return;
  const RacedFleet& base = raced.best_of_part ? *raced.best_of_part : raced.best.front();
  if (base.fleet.engine.name() != out.fleets.front().engine.name())
    told.push_back(fmt::format("changes are those of {}, which only the proof ranked lower",
                               base.fleet.name()));
  out.changes = find_changes(question, load, first, base, trials, runner);
  for (const Change& c : out.changes) told.push_back(c.text());
}

// The highest expected score first, by the chances that were proved.
void order(std::vector<FrontPlan>& plans, PlanObjective objective) {
  std::stable_sort(plans.begin(), plans.end(), [objective](const FrontPlan& a, const FrontPlan& b) {
    return ranked_by(a.proof, objective) < ranked_by(b.proof, objective);
  });
}

// The plans as an answer to the question; those of a front say with which limit they were proved.
Plans plans_of(const Scenario& question, const std::vector<FrontPlan>& plans) {
  const PlanChoice& choice = planned(question).choice;
  Plans out;
  out.answer.scenario = question.name;
  out.answer.resolved = to_json(question);
  for (const FrontPlan& plan : plans) {
    out.fleets.push_back(plan.proof.raced.fleet);
    out.rates.push_back(plan.proof.raced.rate);
    out.questions.push_back(plan.question);
    Point p = point_of(plan.proof, plan.question);
    if (!choice.front.empty()) {
      const Seconds limit = allowed(planned(plan.question).service.slo, front_limit(choice));
      if (limit > Seconds(0)) p.at["slo_" + choice.front] = to_four_digits(limit / milliseconds(1));
    }
    if (&plan != &plans.front())
      p.notes.push_back(choice.front.empty()
                            ? compared(choice.objective, plans.front().proof, plan.proof)
                            : beside(choice.objective, plans.front().proof, plan.proof, "first"));
    out.answer.points.push_back(std::move(p));
  }
  return out;
}

// The last note: what was looked at, and what became of it.
std::string account(const RaceResult& raced, const Trials& trials, bool complete) {
  const std::string left = raced.left.empty() ? "" : ", not shown " + counted(raced.left);
  if (complete)
    return fmt::format(
        "complete: {} fleets{}; {} simulations{}", raced.fleets, left, trials.simulations(),
        raced.best_of_part ? ", by a part of the trace but for the best fleets" : "");
  return fmt::format("incomplete, because the search was stopped: {} of {} fleets{}",
                     raced.looked_at, raced.fleets, left);
}

}  // namespace

Plans find_plans(Runner& runner, const Scenario& question) {
  SearchContext alone;
  return find_plans(runner, question, alone);
}

Plans find_plans(Runner& runner, const Scenario& scenario, SearchContext& context) {
  context.begin();
  const Scenario question = asked(scenario);
  const PlanQuestion& q = planned(question);
  if (divides(q.choice)) return find_divided_plan(runner, question, context);
  std::vector<std::string> notes;
  const PlannedLoad load = planned_load(q.service, notes);
  if (load.rate <= 0 && q.choice.objective != PlanObjective::kThroughput)
    throw InputError("plan: all requests of the load come at once; a plan needs a rate");
  check_lengths(question, runner.architecture(question.model), load);
  const FirstStage first = first_stage(runner, question, load, context);
  if (first.options.empty())
    refuse(
        runner, question, load, context,
        fmt::format("none of {} engines can serve: {}", first.considered, counted(first.rejected)));
  Trials trials(runner, question, load, context);
  const RaceResult raced = race_in_rounds(question, load, first, trials);
  const bool front = !q.choice.front.empty() && !raced.best.empty();
  std::vector<FrontPlan> plans;
  std::string walked;
  bool complete = true;
  if (front) {
    context.answer_alone();
    Front found = find_front(runner, question, load, raced, trials);
    plans = std::move(found.plans);
    complete = found.complete;
    walked = fmt::format("front: {} limits of {} were asked; each plan is proved with its own",
                         found.limits, q.choice.front);
  } else {
    for (Proof& p : prove_all(question, raced.best, trials))
      plans.push_back({question, std::move(p)});
  }
  if (plans.empty() && context.stopped()) throw Stopped();
  if (plans.empty())
    refuse(runner, question, load, context,
           fmt::format("no fleet keeps the limits: {}", counted(raced.left)));
  context.answer_alone();
  if (!front) order(plans, q.choice.objective);
  Plans out = plans_of(question, plans);
  Answer& answer = out.answer;
  out.rejected = first.rejected;
  for (const auto& [reason, n] : raced.left) out.rejected[reason] += n;
  std::vector<std::string>& told = answer.points.front().notes;
  if (front) told.push_back(walked);
  told.insert(told.end(), notes.begin(), notes.end());
  if (!first.rejected.empty())
    told.push_back(
        fmt::format("of {} engines cannot serve: {}", first.considered, counted(first.rejected)));
  answer.complete = complete && !context.stopped();
  if (*answer.complete && !front) {
    try {
      add_days(q.choice, plans, trials, answer);
      explain(runner, question, load, first, raced, trials, out);
    } catch (const Stopped&) {
      answer.complete = false;
    }
  }
  told.push_back(account(raced, trials, *answer.complete));
  return out;
}

}  // namespace orrery
