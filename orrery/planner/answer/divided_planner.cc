#include "orrery/planner/answer/divided_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "orrery/base/error.h"
#include "orrery/planner/answer/plan_point.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"
#include "orrery/planner/search/stock_program.h"
#include "orrery/planner/verify/proof.h"
#include "orrery/planner/verify/share_table.h"
#include "orrery/planner/verify/slo_limits.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

constexpr double kLess = 0.98;  // of a share that misses the limits with other requests
constexpr int kMostRounds = 30;

// A model with its load, and what is known of engines for it.
struct Model {
  Scenario question;
  PlannedLoad load;
  FirstStage first;
  std::unique_ptr<Trials> trials;
  std::unique_ptr<ShareTable> shares;
};

// The question of each model by itself.
std::vector<Scenario> questions_of(const Scenario& question) {
  Scenario own = question;
  auto& asked = planned(own);
  const std::vector<PlannedModel> others = std::move(asked.choice.others);
  asked.choice.others.clear();
  std::vector<Scenario> out = {own};
  for (const PlannedModel& other : others) {
    Scenario s = own;
    s.name = other.name, s.model = other.model, s.model_overrides = {};
    planned(s).service = other.service;
    if (!other.service.slo.any())
      throw InputError(fmt::format("plan.others.{}.slo: a plan needs a limit", other.name));
    if (other.service.find_max_rate || other.service.repeat > 1)
      throw InputError(fmt::format(
          "plan.others.{}.load: find_max_rate and repeat have no meaning in a plan", other.name));
    out.push_back(std::move(s));
  }
  return out;
}

// One of the fleets of a solution.
struct Fleet {
  StockPart part;
  FleetPlan plan;  // with its spare engines
  double rate = 0;
};

class Division {
 public:
  // `same`: has simulated the same models and loads.
  Division(Runner& runner, const Scenario& question, SearchContext& context,
           const Division* same = nullptr)
      : plan_(planned(question).choice), context_(context) {
    for (Scenario& own : questions_of(question)) {
      Model& m = *models_.emplace_back(std::make_unique<Model>());
      m.question = std::move(own);
      m.load = planned_load(planned(m.question).service, notes_);
      if (m.load.rate <= 0)
        throw InputError("plan: all requests of a load come at once; a plan needs a rate");
      check_lengths(m.question, runner.architecture(m.question.model), m.load);
      m.first = first_stage(runner, m.question, m.load, context);
      if (m.first.options.empty())
        throw Infeasible(fmt::format("none of {} engines can serve {}: {}", m.first.considered,
                                     m.question.model, counted(m.first.rejected)));
      m.trials = std::make_unique<Trials>(runner, m.question, m.load, context);
      if (same != nullptr) m.trials->learn(*same->models_[models_.size() - 1]->trials);
      m.shares = std::make_unique<ShareTable>(plan_, m.load, m.first, *m.trials);
      if (m.shares->options() == 0)
        throw Infeasible(fmt::format(
            "no engines for prefill and decode apart can serve {}: prompts that may be in the "
            "prefix cache leave the pool for prefill without a bound",
            m.question.model));
    }
    stocks();
  }

  // The best fleets, all of them simulated. Infeasible: there are none.
  std::vector<Fleet> settled() {
    if (plan_.exhaustive) settle_all();
    for (;;) {
      context_.check();
      const auto solution = solve(program());
      if (!solution) refuse();
      bool known = true;
      for (const StockPart& p : solution->parts) {
        ShareTable& shares = *models_[p.model]->shares;
        if (shares.settled(p.option, p.engines)) continue;
        known = false;
        shares.settle(p.option, p.engines);
      }
      if (known) {
        value_ = solution->value;
        return fleets(*solution);
      }
    }
  }
  // The money or the GPUs of the fleets that settled() has returned last.
  double value() const { return value_; }

  // The same, which keep the limits with requests that were not seen before.
  std::vector<Fleet> proved() {
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<Fleet> found = settled();
      bool kept = true;
      for (const Fleet& f : found) {
        if (keeps(f)) continue;
        kept = false;
        Model& m = *models_[f.part.model];
        m.shares->lower(f.part.option, f.part.engines, kLess * f.rate / m.load.rate);
      }
      if (kept) return found;
    }
    throw Infeasible(
        "the limits are missed with other requests, by all plans that were tried with them");
  }

  const std::vector<std::unique_ptr<Model>>& models() const { return models_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::int64_t simulations() const {
    std::int64_t n = 0;
    for (const auto& m : models_) n += m->trials->simulations();
    return n;
  }
  // "32 of 64 h100-sxm".
  std::string stock_note(const std::vector<Fleet>& fleets) const {
    std::map<std::string, std::int64_t> used;
    for (const Fleet& f : fleets) used[f.plan.engine.gpu.gpu] += f.plan.gpus();
    std::string out;
    for (const auto& [gpu, n] : used) {
      const auto at = stock_of_.find(gpu);
      const std::string of =
          at == stock_of_.end() ? "" : fmt::format(" of {}", stocks_[at->second]);
      out += fmt::format("{}{}{} {}", out.empty() ? "" : ", ", n, of, gpu);
    }
    return out;
  }

 private:
  void stocks() {
    for (const auto& m : models_) {
      for (std::size_t k = 0; k < m->shares->options(); ++k) {
        const GpuStock& gpu = m->shares->sizes(k).gpu();
        if (gpu.gpus <= 0 || stock_of_.contains(gpu.gpu)) continue;
        stock_of_[gpu.gpu] = stocks_.size();
        stocks_.push_back(gpu.gpus);
      }
    }
  }

  StockProgram program() const {
    StockProgram out;
    out.stocks = stocks_;
    out.gpus = plan_.gpus;
    out.most_money = plan_.budget / kHoursOfMonth;
    out.mixed = plan_.mixed;
    for (const auto& m : models_) {
      std::vector<StockOption>& options = out.models.emplace_back();
      for (std::size_t k = 0; k < m->shares->options(); ++k) {
        options.push_back(m->shares->option(k));
        const auto at = stock_of_.find(m->shares->sizes(k).gpu().gpu);
        if (at != stock_of_.end()) options.back().stock = at->second;
      }
    }
    return out;
  }

  void settle_all() {
    for (const auto& m : models_)
      for (std::size_t k = 0; k < m->shares->options(); ++k)
        for (std::size_t n = 1; n <= m->shares->option(k).serves.size(); ++n)
          if (!m->shares->settled(k, static_cast<std::int64_t>(n)))
            m->shares->settle(k, static_cast<std::int64_t>(n));
  }

  [[noreturn]] void refuse() const {
    const StockProgram all = program();
    for (std::size_t m = 0; m < models_.size() && models_.size() > 1; ++m) {
      StockProgram one = all;
      one.models = {all.models[m]};
      if (!solve(one))
        throw Infeasible(fmt::format(
            "no fleets keep the limits of {}, even with all the GPUs and the money to itself",
            models_[m]->question.model));
    }
    throw Infeasible(models_.size() > 1
                         ? "each model could be served by itself, but all of them need more GPUs "
                           "or money than there is"
                         : "no fleets keep the limits with the GPUs and the money that there are");
  }

  // The fleets of a solution. Each serves a part of its model's load, in proportion to what it can.
  std::vector<Fleet> fleets(const StockSolution& solution) {
    std::vector<double> sum(models_.size(), 0);
    for (const StockPart& p : solution.parts)
      sum[p.model] += models_[p.model]->shares->share(p.option, p.engines);
    std::vector<Fleet> out;
    for (const StockPart& p : solution.parts) {
      const Model& m = *models_[p.model];
      Fleet f{p, {}, m.load.rate * m.shares->share(p.option, p.engines) / sum[p.model]};
      f.plan = m.shares->fleet(p.option, p.engines);
      f.plan.spare = spares(plan_, f.plan.engine, f.plan.engines);
      f.plan.engines += f.plan.spare;
      if (f.plan.decode) {
        f.plan.decode_spare = spares(plan_, *f.plan.decode, f.plan.decode_engines);
        f.plan.decode_engines += f.plan.decode_spare;
      }
      out.push_back(std::move(f));
    }
    return out;
  }

  bool keeps(const Fleet& f) {
    const Model& m = *models_[f.part.model];
    const auto key = fmt::format("{} {} {}", f.part.model, f.plan.name(), f.rate);
    const auto known = kept_.find(key);
    if (known != kept_.end()) return known->second;
    return kept_[key] = Trials::kept(m.trials->again(f.plan.at_work(), f.rate,
                                                     first_seed(planned(m.question)),
                                                     m.trials->deviations(), false));
  }

  const PlanChoice plan_;
  SearchContext& context_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<std::string> notes_;
  std::map<std::string, std::size_t> stock_of_;  // by the GPU
  std::vector<std::int64_t> stocks_;
  std::map<std::string, bool> kept_;  // by the fleet and its rate
  double value_ = 0;
};

// The changes of the question that would change its fleets. The GPUs are divided again for each.
class DividedChanges {
 public:
  DividedChanges(Runner& runner, const Scenario& question, SearchContext& context,
                 Division& division)
      : runner_(runner), question_(question), context_(context), division_(division) {
    division_.settled();
    value_ = division_.value();
  }

  std::vector<std::string> all() {
    const PlanChoice& plan = planned(question_).choice;
    for (std::size_t m = 0; m <= plan.others.size(); ++m)
      for (const SloLimit limit : kSloLimits) limits(m, limit);
    if (plan.gpus > 0) more("GPU", [](PlanChoice& c, std::int64_t n) { c.gpus += n; });
    for (std::size_t i = 0; i < plan.gpu.size(); ++i) {
      const GpuStock stock = GpuStock::parse(plan.gpu[i]);
      if (stock.gpus == 0) continue;
      more(stock.gpu, [&](PlanChoice& c, std::int64_t n) {
        c.gpu[i] = fmt::format("{}:{}", stock.gpu, stock.gpus + n);
      });
    }
    if (plan.budget > 0) {
      Scenario q = question_;
      choice_of(q).budget *= 1 + kDifference;
      add(fmt::format("{:.0f} USD a month more", kDifference * plan.budget), found(q), 0, "");
    }
    return std::move(out_);
  }

 private:
  static constexpr double kDifference = 0.1;  // of a limit, and of the budget

  struct Found {
    std::string fleets;
    double value = 0;
  };

  static PlanChoice& choice_of(Scenario& s) { return planned(s).choice; }

  std::optional<Found> found(const Scenario& question) {
    try {
      Division other(runner_, question, context_, &division_);
      Found out;
      for (const Fleet& f : other.settled())
        out.fleets += (out.fleets.empty() ? "" : " and ") + f.plan.name();
      out.value = other.value();
      return out;
    } catch (const Infeasible&) {
      return std::nullopt;
    }
  }

  // `units`: of the change, of which each brings its part; 0: it has none.
  void add(const std::string& what, const std::optional<Found>& f, double units,
           const std::string& unit) {
    if (!f) {
      out_.push_back(fmt::format("with {}: nothing keeps the limits", what));
      return;
    }
    const double gain = 1 - f->value / value_;
    if (std::abs(gain) < kSame) {
      out_.push_back(fmt::format("with {}: no better plan", what));
      return;
    }
    std::string each;
    if (units > 0)
      each = fmt::format(
          ": {:.3g} {} for each {}", std::abs(f->value - value_) / units,
          choice_of(question_).objective == PlanObjective::kCost ? "USD an hour" : "GPUs", unit);
    out_.push_back(fmt::format("with {}: {}, {:.1f} % {}{}", what, f->fleets, 100 * std::abs(gain),
                               gain > 0 ? "better" : "worse", each));
  }

  void limits(std::size_t model, SloLimit limit) {
    const auto slo_of = [model](Scenario& s) -> ServiceLevels& {
      auto& q = planned(s);
      return model == 0 ? q.service.slo : q.choice.others[model - 1].service.slo;
    };
    const double ms = allowed(slo_of(question_), limit) / milliseconds(1);
    if (ms <= 0) return;
    for (const double factor : {1 - kDifference, 1 + kDifference}) {
      Scenario q = question_;
      allow(slo_of(q), limit, milliseconds(factor * ms));
      const std::string& name =
          model == 0 ? question_.model : choice_of(question_).others[model - 1].model;
      add(fmt::format("{} of {} at {:.4g} ms", name_of(limit), name, factor * ms), found(q),
          kDifference * ms, "ms");
    }
  }

  // Adds a line for the first of 1, 2, 4 and 8 more with which the fleets change; for 8 where none
  // of them changes the fleets.
  template <class Change>
  void more(const std::string& what, Change change) {
    for (const std::int64_t n : {1, 2, 4, 8}) {
      Scenario q = question_;
      change(choice_of(q), n);
      const std::optional<Found> f = found(q);
      if (n < 8 && (!f || f->value >= value_ * (1 - kSame))) continue;
      add(fmt::format("{} more {}", n, what), f, static_cast<double>(n), "of them");
      return;
    }
  }

  static constexpr double kSame = 1e-9;
  Runner& runner_;
  Scenario question_;
  SearchContext& context_;
  Division& division_;
  double value_ = 0;
  std::vector<std::string> out_;
};

// The proofs of the fleets. All fleets of a model keep the limits together.
std::vector<Proof> proofs(const Division& division, const std::vector<Fleet>& fleets) {
  std::vector<Proof> out;
  std::map<std::size_t, std::vector<bool>> kept;  // by the model: at each level
  for (const Fleet& f : fleets) {
    const Model& m = *division.models()[f.part.model];
    Proof p;
    p.raced = {f.plan, 0, f.rate};
    p.kept = true;
    const std::int64_t seed = first_seed(planned(m.question));
    p.point = m.trials->again(f.plan, f.rate, seed, 0, true);
    p.headroom = 100 * (headroom_of(f.plan.at_work(), f.rate, *m.trials) - 1);
    std::vector<bool>& levels = kept.try_emplace(f.part.model, kLevels, true).first->second;
    for (std::size_t level = 0; level < kLevels; ++level)
      if (levels[level])
        levels[level] =
            keeps_at(m.question, f.plan.at_work(), f.rate, static_cast<int>(level), *m.trials);
    out.push_back(std::move(p));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::vector<bool>& levels = kept.at(fleets[i].part.model);
    out[i].chance = static_cast<double>(std::count(levels.begin(), levels.end(), true)) / kLevels;
  }
  return out;
}

}  // namespace

void check_divided(const PlanChoice& plan) {
  const auto refuse = [](bool asked, const char* what) {
    if (asked)
      throw InputError(fmt::format(
          "{}: plans with plan.mixed or plan.others do not have it (docs/planner.md)", what));
  };
  refuse(plan.objective != PlanObjective::kCost && plan.objective != PlanObjective::kGpus,
         "plan.objective other than cost and gpus");
  refuse(!plan.day.empty(), "plan.day");
  refuse(!plan.robust.empty(), "plan.robust");
  refuse(!plan.what_if_gpu.empty(), "plan.what_if_gpu");
}

Plans find_divided_plan(Runner& runner, const Scenario& question, SearchContext& context) {
  Division division(runner, question, context);
  context.answer_alone();
  const std::vector<Fleet> fleets = division.proved();
  const std::vector<Proof> proved = proofs(division, fleets);
  Plans out;
  out.side_by_side = true;
  out.answer.scenario = question.name;
  out.answer.resolved = to_json(question);
  out.answer.complete = true;
  double hour = 0;
  std::int64_t options = 0, considered = 0;
  for (const auto& m : division.models()) {
    options += static_cast<std::int64_t>(m->first.options.size());
    considered += m->first.considered;
  }
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    const Model& m = *division.models()[fleets[i].part.model];
    out.fleets.push_back(fleets[i].plan);
    out.rates.push_back(fleets[i].rate);
    out.questions.push_back(m.question);
    Point p = point_of(proved[i], m.question);
    if (fleets[i].rate < (1 - 1e-9) * m.load.rate)
      p.notes.insert(p.notes.begin() + 1,
                     fmt::format("share of the requests of {}: {:.3g} %", m.question.model,
                                 100 * fleets[i].rate / m.load.rate));
    hour += m.shares->sizes(fleets[i].part.option).money(fleets[i].part.engines);
    out.answer.points.push_back(std::move(p));
  }
  std::vector<std::string>& told = out.answer.points.front().notes;
  std::string all = fmt::format("all fleets: {}", division.stock_note(fleets));
  if (hour > 0) all += fmt::format("; {:.4g} USD an hour", hour);
  told.insert(told.begin() + 1, all);
  told.insert(told.end(), division.notes().begin(), division.notes().end());
  if (planned(question).choice.explain)
    for (std::string& change : DividedChanges(runner, question, context, division).all())
      told.push_back(std::move(change));
  told.push_back(fmt::format("complete: {} of {} engines can serve; {} simulations", options,
                             considered, division.simulations()));
  return out;
}

}  // namespace orrery
