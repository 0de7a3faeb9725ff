#include "orrery/planner/answer/run_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/planner/answer/run_changes.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/run_search.h"
#include "orrery/planner/space/question_keys.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {
namespace {

constexpr double kDay = 86400;

double days(Seconds t) { return t.value() / kDay; }

// The question with the defaults of a plan.
Scenario with_defaults(Scenario s) {
  auto& q = planned(s);
  TrainingQuestion& run = *q.training;
  if (!run.tokens && !run.samples && !run.iterations)
    throw InputError(
        "a plan of a run needs its length: training.tokens (--tokens 2T), samples or iterations");
  if (run.global_batch == 0)
    throw InputError(
        "a plan of a run compares layouts at one global batch: training.global_batch "
        "(--global-batch 2048)");
  if (q.choice.objective == PlanObjective::kThroughput)
    throw InputError(
        "plan.objective throughput is of services; of a run it is time, cost, gpus, energy or "
        "pareto");
  const bool money = q.choice.objective == PlanObjective::kCost ||
                     q.choice.objective == PlanObjective::kPareto || q.choice.budget > 0;
  if (money && !s.cost.asked()) s.cost.tier = "on_demand";
  if (!run.chance) run.chance = planned_chance();
  return s;
}

std::string usd(double value) {
  if (value < 1e4) return fmt::format("{:.4g} USD", value);
  return value < 1e6 ? fmt::format("{:.4g} thousand USD", value / 1e3)
                     : fmt::format("{:.4g} million USD", value / 1e6);
}

std::string long_time(Seconds t) {
  constexpr double kHour = 3600;
  return t.value() < 2 * kDay ? fmt::format("{:.4g} hours", t.value() / kHour)
                              : fmt::format("{:.4g} days", days(t));
}

std::string told(const RatedRun& r) {
  return fmt::format("{}: {}{}", r.plan.name(), long_time(r.run.total),
                     r.run.usd > 0 ? ", " + usd(r.run.usd) : "");
}

std::string counted_layouts(const RunSearch& search) {
  std::string out;
  for (const auto& [reason, n] : search.rejected) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", n.layouts, reason);
    if (!n.example.empty()) out += fmt::format(" (such as: {})", n.example);
  }
  return out;
}

// Why there is no plan.
[[noreturn]] void refuse(const PlanChoice& choice, const RunSearch& search) {
  if (!search.fastest) {
    if (!search.nearest)
      throw Infeasible(fmt::format("none of {} layouts is possible: {}", search.layouts,
                                   counted_layouts(search)));
    throw Infeasible(
        fmt::format("no GPU of the plan holds the run; the closest of {} layouts, {}, {}",
                    search.layouts, search.nearest->name(), search.nearest_memory.summary()));
  }
  const RatedRun &fast = *search.fastest, &cheap = *search.cheapest;
  const bool late = choice.by > Seconds(0) && fast.run.total > choice.by;
  if (late)
    throw Infeasible(fmt::format(
        "no plan ends within {:.4g} days; the closest, {}, takes {:.4g} days: {:.4g} days are "
        "missing",
        days(choice.by), fast.plan.name(), days(fast.run.total),
        days(fast.run.total) - days(choice.by)));
  if (choice.budget > 0 && cheap.run.usd > choice.budget)
    throw Infeasible(fmt::format(
        "no plan costs at most {}; the closest, {}, costs {}: {} are missing", usd(choice.budget),
        cheap.plan.name(), usd(cheap.run.usd), usd(cheap.run.usd - choice.budget)));
  throw Infeasible(fmt::format(
      "plan.by and plan.budget contradict each other: the fastest plan is {}; the cheapest {}",
      told(fast), told(cheap)));
}

// The chance that a run ends in time: the logarithm of its time is normal, with the errors of the
// prediction and the spread that chance (failures) gives it.
double in_time(const Point& p, Seconds by) {
  constexpr double kNinety = 2 * 1.6449;  // deviations from the 5 % to the 95 % quantile
  const auto spread = [](double low, double high) {
    return low > 0 && high > low ? std::log(high / low) / kNinety : 0;
  };
  const Metric& mean = *p.find("time_to_train");
  const Metric* median = p.find("time_to_train_p50");
  const Metric *low = p.find("time_to_train_p5"), *high = p.find("time_to_train_p95");
  double sigma = spread(mean.low90, mean.high90);
  if (low != nullptr && high != nullptr) sigma = std::hypot(sigma, spread(low->value, high->value));
  const double over =
      std::log((median != nullptr ? median : &mean)->value / (by.value() / 3600)) / sigma;
  return 0.5 * std::erfc(over / std::sqrt(2.0));
}

// The plans of the search in the order of the objective.
std::vector<RatedRun> chosen(const PlanChoice& choice, const RunSearch& search) {
  std::vector<RatedRun> all;
  for (const auto& best : search.best) all.insert(all.end(), best.begin(), best.end());
  std::sort(all.begin(), all.end(), [&choice](const RatedRun& a, const RatedRun& b) {
    return better(choice.objective, a, b);
  });
  if (choice.objective != PlanObjective::kPareto) return all;
  std::vector<RatedRun> front;
  for (const RatedRun& r : all) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&r](const RatedRun& f) {
      return f.run.total <= r.run.total && f.run.usd <= r.run.usd &&
             f.plan.layout.gpus <= r.plan.layout.gpus;
    });
    if (!beaten) front.push_back(r);
  }
  return front;
}

// How a plan compares with the best one.
std::string compared_runs(PlanObjective objective, const RatedRun& best, const RatedRun& other) {
  const auto more = [](double a, double b) { return 100 * (b / a - 1); };
  std::string out =
      fmt::format("{:+.2f} % time", more(best.run.total.value(), other.run.total.value()));
  if (best.run.usd > 0) out += fmt::format(", {:+.2f} % USD", more(best.run.usd, other.run.usd));
  if (objective == PlanObjective::kEnergy)
    out += fmt::format(", {:+.2f} % energy", more(best.run.joules, other.run.joules));
  return out + " beside the best plan";
}

// The part of an iteration that is not work of the passes and that is largest.
std::string binding(const Point& p) {
  const Metric *mfu = p.find("mfu"), *bubble = p.find("bubble"),
               *communication = p.find("communication"), *fits = p.find("fits");
  std::string out;
  if (mfu != nullptr) out = fmt::format("{:.3g} % of the arithmetic peak", mfu->value);
  if (bubble != nullptr && communication != nullptr)
    out += fmt::format(
        "; {:.3g} % of the time is the pipeline's idle time, {:.3g} % exposed "
        "communication",
        bubble->value, communication->value);
  if (fits != nullptr)
    out += fmt::format("; it fits in memory with a chance of {:.0f} %", fits->value);
  return out;
}

// The plans of runs are asked in full, each a task of the ranks.
class Answers {
 public:
  Answers(Runner& runner, const Scenario& question, SearchContext& context)
      : runner_(runner), question_(question), context_(context), keys_(question) {}

  Point of(const RatedRun& rated) {
    RunOptions options;
    options.breakdown = false;
    return context_.point(
        [&] { return keys_.key("run, " + rated.plan.name(), rated.plan.gpu.gpu); },
        [&] { return runner_.run(rated.plan.asked(question_), options).points.at(0); });
  }

 private:
  Runner& runner_;
  const Scenario& question_;
  SearchContext& context_;
  QuestionKeys keys_;
};

Point answered(Answers& answers, const Scenario& question, const RatedRun& rated) {
  Point p = answers.of(rated);
  const RunLayout& l = rated.plan.layout;
  p.at = {{"model", p.at.at("model")},
          {"gpu", rated.plan.gpu.gpu},
          {"gpus", l.gpus},
          {"format", std::string(to_text(l.format))},
          {"tp", l.tp},
          {"cp", l.cp},
          {"pp", l.pp},
          {"vp", l.vp},
          {"dp", l.dp()},
          {"ep", l.ep},
          {"micro_batch", l.micro_batch},
          {"zero", l.zero},
          {"recompute", std::string(to_text(l.recompute))}};
  if (const auto& limit = rated.plan.boards.limit) p.at["power_limit"] = limit->value();
  if (const auto& clock = rated.plan.boards.clock) p.at["clock"] = clock->value() / 1e6;
  const PlanChoice& choice = planned(question).choice;
  if (choice.by > Seconds(0))
    p.metrics.insert(p.metrics.begin(), exact_metric("in_time", "%", 100 * in_time(p, choice.by)));
  p.notes.insert(p.notes.begin(), binding(p));
  p.notes.insert(p.notes.begin(), "plan: " + rated.plan.name());
  return p;
}

}  // namespace

RunPlans find_run_plans(Runner& runner, const Scenario& question) {
  SearchContext alone;
  return find_run_plans(runner, question, alone);
}

RunPlans find_run_plans(Runner& runner, const Scenario& scenario, SearchContext& context) {
  context.begin();
  RunPlans out;
  out.question = with_defaults(scenario);
  const PlanChoice& choice = planned(out.question).choice;
  const RunSearch search = search_runs(runner, out.question, context);
  const std::vector<RatedRun> ranked = chosen(choice, search);
  if (context.stopped()) context.finish();
  if (ranked.empty() && context.stopped()) throw Stopped();
  if (ranked.empty()) {
    context.answer_alone();
    refuse(choice, search);
  }
  out.answer.scenario = out.question.name;
  out.answer.resolved = to_json(out.question);
  std::vector<std::string> further;  // the best of other numbers of GPUs
  const bool all = choice.objective == PlanObjective::kPareto;
  double most = 0;     // chance to end in time
  std::string reason;  // why a plan that fits the GPUs does not fit their hosts
  Answers answers(runner, out.question, context);
  const std::size_t shown = all ? ranked.size() : static_cast<std::size_t>(choice.top);
  const auto look_at = [&](const RatedRun& r) {
    Point p = answered(answers, out.question, r);
    if (!p.feasibility.fits) {
      reason = p.feasibility.reason;
      return;
    }
    if (const Metric* chance = p.find("in_time"); chance != nullptr) {
      most = std::max(most, chance->value);
      if (chance->value < choice.confidence && choice.confidence > 50) return;
    }
    if (!out.plans.empty() && !all)
      p.notes.insert(p.notes.begin() + 1, compared_runs(choice.objective, ranked.front(), r));
    out.plans.push_back(r.plan);
    out.answer.points.push_back(std::move(p));
  };
  context.together(
      "plans", std::min(shown, ranked.size()),
      [&](std::size_t i, double) { answers.of(ranked[i]); },
      [&] {
        for (std::size_t i = 0; i < ranked.size() && out.plans.size() < shown; ++i) {
          if (context.stopped() && !out.plans.empty()) break;
          try {
            if (i < shown) context.reach(i);
            look_at(ranked[i]);
          } catch (const Stopped&) {
            context.finish();
            if (out.plans.empty()) look_at(ranked[i]);
          }
        }
      });
  context.answer_alone();
  if (out.plans.empty() && !reason.empty())
    throw Infeasible(fmt::format("no plan fits its nodes: {}", reason));
  if (out.plans.empty())
    throw Infeasible(fmt::format(
        "no plan ends within {:.4g} days with a chance of {} %: the best chance is {:.0f} %",
        days(choice.by), choice.confidence, most));
  std::vector<std::string>& notes = out.answer.points.front().notes;
  std::string sizes;
  for (const auto& best : search.best) sizes += (sizes.empty() ? "" : "; ") + told(best.front());
  notes.push_back("the best of each number of GPUs: " + sizes);
  for (std::string& change : run_changes(choice.objective, search, ranked.front()))
    notes.push_back(std::move(change));
  const bool listed = !choice.power_limits.empty() || !choice.clocks.empty();
  if (listed && !slower_boards_win(choice.objective, search.electricity))
    notes.push_back(
        "plan.power_limits and plan.clocks were not tried: a slower board ends no run sooner, and "
        "saves no money where the price of a GPU-hour is fixed");
  if (!planned(scenario).training->chance)
    notes.push_back(fmt::format(
        "not declared: a checkpoint takes {:.0f} s from the job, a restart {:.0f} min (chance)",
        planned_chance().checkpoint_write.value(), planned_chance().restart.value() / 60));
  out.answer.complete = !context.stopped();
  notes.push_back(
      fmt::format("{}: {} layouts, {} evaluated; not: {}",
                  *out.answer.complete ? "complete" : "incomplete, because the search was stopped",
                  search.layouts, search.evaluated, counted_layouts(search)));
  for (const auto& [reason, n] : search.rejected) out.rejected.emplace_back(reason, n.layouts);
  return out;
}

}  // namespace orrery
