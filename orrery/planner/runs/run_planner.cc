#include "orrery/planner/runs/run_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_changes.h"
#include "orrery/planner/runs/run_search.h"
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
  if (!run.global_batch)
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

// The answer of a run as that of a plan. `p`: what `train` answers for it.
Point answered(Point p, const PlanChoice& choice, const RatedRun& rated) {
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
  if (choice.by > Seconds(0))
    p.metrics.insert(p.metrics.begin(), exact_metric("in_time", 100 * in_time(p, choice.by)));
  p.notes.insert(p.notes.begin(), binding(p));
  p.notes.insert(p.notes.begin(), "plan: " + rated.plan.name());
  return p;
}

// Answers the runs of a search in full, in their order, each a task of the ranks, and takes those
// that are plans.
class RunAnswers {
 public:
  // Borrows everything; `out.question` is the question.
  RunAnswers(Runner& runner, const std::vector<RatedRun>& ranked, SearchContext& context,
             RunPlans& out)
      : runner_(runner),
        ranked_(ranked),
        context_(context),
        choice_(planned(out.question).choice),
        keys_(out.question),
        out_(out) {}

  // With objective pareto all plans, otherwise PlanChoice::top of them. Stopped: there is none yet.
  void take_plans() {
    const std::size_t shown = all() ? ranked_.size() : static_cast<std::size_t>(choice_.top);
    context_.together(
        "plans", std::min(shown, ranked_.size()), [&](std::size_t i, double) { of(ranked_[i]); },
        [&] { take_in_order(shown); });
  }

  // Infeasible: no run is a plan.
  void require_plans() const {
    if (!out_.plans.empty()) return;
    if (!no_host_.empty()) throw Infeasible(fmt::format("no plan fits its nodes: {}", no_host_));
    throw Infeasible(fmt::format(
        "no plan ends within {:.4g} days with a chance of {} %: the best chance is {:.0f} %",
        days(choice_.by), choice_.confidence, best_chance_));
  }

 private:
  bool all() const { return choice_.objective == PlanObjective::kPareto; }

  Point of(const RatedRun& rated) {
    RunOptions options;
    options.breakdown = false;
    return context_.point(
        [&] { return keys_.key("run, " + rated.plan.name(), rated.plan.gpu.gpu); },
        [&] { return runner_.run(rated.plan.asked(out_.question), options).points.at(0); });
  }

  void take_in_order(std::size_t shown) {
    for (std::size_t i = 0; i < ranked_.size() && out_.plans.size() < shown; ++i) {
      if (context_.stopped() && !out_.plans.empty()) break;
      try {
        if (i < shown) context_.reach(i);
        take(ranked_[i]);
      } catch (const Stopped&) {
        context_.finish();
        if (out_.plans.empty()) take(ranked_[i]);
      }
    }
  }

  // Takes the run if it fits and ends in time.
  void take(const RatedRun& rated) {
    Point p = answered(of(rated), choice_, rated);
    if (!p.feasibility.fits) {
      no_host_ = p.feasibility.reason;
      return;
    }
    if (const Metric* chance = p.find("in_time"); chance != nullptr) {
      best_chance_ = std::max(best_chance_, chance->value);
      if (chance->value < choice_.confidence && choice_.confidence > 50) return;
    }
    if (!out_.plans.empty() && !all())
      p.notes.insert(p.notes.begin() + 1, compared_runs(choice_.objective, ranked_.front(), rated));
    out_.plans.push_back(rated.plan);
    out_.answer.points.push_back(std::move(p));
  }

  Runner& runner_;
  const std::vector<RatedRun>& ranked_;
  SearchContext& context_;
  const PlanChoice& choice_;
  QuestionKeys keys_;
  RunPlans& out_;
  double best_chance_ = 0;  // %, to end in time
  std::string no_host_;     // why a run that fits the GPUs does not fit their hosts
};

// The notes of the best plan: other numbers of GPUs, what would change the plan, the defaults that
// were taken, and how much was searched. `has_chance`: the question states the chance of the run.
void add_notes(const RunSearch& search, const RatedRun& best, bool has_chance, RunPlans& out) {
  const PlanChoice& choice = planned(out.question).choice;
  std::vector<std::string>& notes = out.answer.points.front().notes;
  std::string sizes;
  for (const auto& runs : search.best) sizes += (sizes.empty() ? "" : "; ") + told(runs.front());
  notes.push_back("the best of each number of GPUs: " + sizes);
  for (std::string& change : run_changes(choice.objective, search, best))
    notes.push_back(std::move(change));
  const bool listed = !choice.power_limits.empty() || !choice.clocks.empty();
  if (listed && !slower_boards_win(choice.objective, search.electricity))
    notes.push_back(
        "plan.power_limits and plan.clocks were not tried: a slower board ends no run sooner, and "
        "saves no money where the price of a GPU-hour is fixed");
  if (!has_chance)
    notes.push_back(fmt::format(
        "not declared: a checkpoint takes {:.0f} s from the job, a restart {:.0f} min (chance)",
        planned_chance().checkpoint_write.value(), planned_chance().restart.value() / 60));
  notes.push_back(
      fmt::format("{}: {} layouts, {} evaluated; not: {}",
                  *out.answer.complete ? "complete" : "incomplete, because the search was stopped",
                  search.layouts, search.evaluated, counted_layouts(search)));
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
  RunAnswers answers(runner, ranked, context, out);
  answers.take_plans();
  context.answer_alone();
  answers.require_plans();
  out.answer.complete = !context.stopped();
  add_notes(search, ranked.front(), planned(scenario).training->chance.has_value(), out);
  for (const auto& [reason, n] : search.rejected) out.rejected.emplace_back(reason, n.layouts);
  return out;
}

}  // namespace orrery
