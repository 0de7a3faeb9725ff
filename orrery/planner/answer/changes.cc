#include "orrery/planner/answer/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/planner/answer/more_memory.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

constexpr double kBelow = 1 - 1e-6, kAbove = 1 + 1e-6;
constexpr double kLoosest = 2;  // times a limit, beyond which no flip is sought
constexpr double kDifference = 0.1;
constexpr double kGb = 1e9;
constexpr double kSame = 1e-9;
constexpr int kMostFlips = 12;  // of one limit
constexpr std::int64_t kMoreGpus[] = {1, 2, 4, 8};

PlanChoice& choice_of(Scenario& s) { return planned(s).choice; }
ServiceLevels& slo_of(Scenario& s) { return planned(s).service.slo; }

const char* unit_of(PlanObjective objective) {
  constexpr const char* kUnits[] = {"USD an hour", "GPUs", "J a request", "requests/s"};
  return kUnits[index(objective)];
}

class Changes {
 public:
  Changes(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
          const RacedFleet& best, Trials& trials, Runner& runner)
      : question_(question),
        plan_(planned(question).choice),
        load_(load),
        first_(first),
        best_(best),
        trials_(trials),
        runner_(runner) {
    choice_of(question_).top = 1;
  }

  std::vector<Change> all() {
    for (const SloLimit limit : kSloLimits) {
      const Seconds allowed_time = allowed(planned(question_).service.slo, limit);
      if (allowed_time <= Seconds(0)) continue;
      if (by_rate()) {
        around(limit, allowed_time / milliseconds(1));
      } else {
        flips(limit, allowed_time / milliseconds(1));
      }
    }
    more_gpus();
    more_money();
    more_memory();
    other_gpus();
    usual();
    return std::move(out_);
  }

 private:
  bool by_rate() const { return plan_.objective == PlanObjective::kThroughput; }
  double gain(const RacedFleet& r) const {
    const double ratio = r.ranked / best_.ranked;
    return by_rate() ? ratio - 1 : 1 - ratio;
  }
  bool improves(const std::optional<RacedFleet>& r) const { return r && gain(*r) > kSame; }

  // The best of a question with the same load; none: nothing keeps its limits.
  std::optional<RacedFleet> best_of(const Scenario& question, const FirstStage& first) {
    Trials trials(trials_, question);
    RaceResult raced = race(question, load_, first, trials);
    trials_.learn(trials);
    if (raced.best.empty()) return std::nullopt;
    return std::move(raced.best.front());
  }
  std::optional<RacedFleet> best_of(const Scenario& question) {
    return best_of(question, first_stage(runner_, question, load_, trials_.context()));
  }

  void add(std::string what, std::optional<RacedFleet> best, std::string price = "") {
    const std::optional<double> g = best ? std::optional(gain(*best)) : std::nullopt;
    out_.push_back({std::move(what), std::move(best), g, std::move(price)});
  }

  Scenario with_limit(SloLimit limit, double ms) const {
    Scenario q = question_;
    allow(slo_of(q), limit, milliseconds(ms));
    return q;
  }
  std::optional<double> figure(SloLimit limit, const RacedFleet& r) {
    return trials_.figure(limit, r.fleet.at_work(), r.rate, r.slowest);
  }
  std::string price(double gained, const char* of) const {
    if (std::abs(gained) < kSame) return "";
    return fmt::format("{:.3g} {} for {}", gained, unit_of(plan_.objective), of);
  }

  void around(SloLimit limit, double ms) {
    for (const double factor : {1 - kDifference, 1 + kDifference}) {
      std::optional<RacedFleet> r = best_of(with_limit(limit, factor * ms));
      const double each = r ? (r->value - best_.value) / ((factor - 1) * ms) : 0;
      add(fmt::format("{} {:.4g} ms", name_of(limit), factor * ms), std::move(r),
          price(each, "each ms"));
    }
  }

  void flips(SloLimit limit, double ms) {
    // Below its figure at the slowest level at which it keeps the limit the plan has a smaller
    // chance, with which it may still be the best.
    RacedFleet own = best_;
    for (int flip = 0; flip < kMostFlips; ++flip) {
      const std::optional<double> from = figure(limit, own);
      if (!from) return;
      std::optional<RacedFleet> next = best_of(with_limit(limit, *from * kBelow));
      if (!next || next->fleet.name() != own.fleet.name()) {
        add(fmt::format("{} below {:.4g} ms", name_of(limit), *from), std::move(next));
        break;
      }
      own = std::move(*next);
    }
    // The best plan does not get worse where the limit is looser. From a limit at which it is
    // better, the first such limit is approached by asking just below it.
    std::optional<RacedFleet> better = best_of(with_limit(limit, kLoosest * ms));
    if (!improves(better)) {
      add(fmt::format("{} up to {:.4g} ms", name_of(limit), kLoosest * ms), best_);
      return;
    }
    double at = kLoosest * ms;
    for (int flip = 0; flip < kMostFlips; ++flip) {
      const std::optional<double> from = figure(limit, *better);
      if (!from) return;
      at = *from;
      if (at <= ms * kAbove) break;
      std::optional<RacedFleet> before = best_of(with_limit(limit, at * kBelow));
      if (!improves(before)) break;
      better = std::move(before);
    }
    const double each = (best_.value - better->value) / (at - ms);
    add(fmt::format("{} from {:.4g} ms", name_of(limit), at), std::move(better),
        price(each, "each ms up to there"));
  }

  void more_gpus() {
    if (plan_.gpus > 0) {
      for (const std::int64_t more : kMoreGpus) {
        Scenario q = question_;
        choice_of(q).gpus += more;
        std::optional<RacedFleet> r = best_of(q);
        const bool last = improves(r) || more == kMoreGpus[std::size(kMoreGpus) - 1];
        if (!last) continue;
        const double each = r ? std::abs(r->value - best_.value) / static_cast<double>(more) : 0;
        add(fmt::format("{} more GPU{}", more, more == 1 ? "" : "s"), std::move(r),
            price(each, "each of them"));
        break;
      }
    }
    for (std::size_t i = 0; i < plan_.gpu.size(); ++i) {
      const GpuStock stock = GpuStock::parse(plan_.gpu[i]);
      if (stock.gpus == 0 || by_rate()) continue;
      Scenario q = question_;
      choice_of(q).gpu[i] = stock.gpu;
      add(fmt::format("as many {} as are wanted", stock.gpu), best_of(q));
    }
  }

  void more_money() {
    if (plan_.budget <= 0) return;
    Scenario q = question_;
    const double more = kDifference * plan_.budget;
    choice_of(q).budget += more;
    std::optional<RacedFleet> r = best_of(q);
    const double each = r ? std::abs(r->value - best_.value) / more * 1000 : 0;
    add(fmt::format("{:.0f} USD a month more", more), std::move(r),
        price(each, "each 1000 USD a month"));
  }

  // The plan of its own type of GPU alone, each with a tenth more memory.
  void more_memory() {
    const GpuStock& own = best_.fleet.engine.gpu;
    if (!runner_.bundle().find(fmt::format("gpus/{}.yaml", own.gpu))) return;  // a file of the user
    const double capacity = runner_.catalog().gpu(own.gpu).memory.capacity.value();
    const double more = std::max(1.0, std::round(kDifference * capacity / kGb));
    Runner larger(with_more_memory(runner_.bundle(), own.gpu, Bytes(more * kGb)));
    Scenario q = question_;
    choice_of(q).gpu = {own.gpus > 0 ? fmt::format("{}:{}", own.gpu, own.gpus) : own.gpu};
    SearchContext context;  // what is kept is of the catalog as it is
    Trials trials(larger, q, load_, context);
    const RaceResult raced = race(q, load_, first_stage(larger, q, load_, context), trials);
    // More memory serves no less; where nothing is better, the plan stays.
    std::optional<RacedFleet> best;
    if (!raced.best.empty()) best = raced.best.front();
    if (!improves(best)) best = best_;
    const double each = std::abs(best->value - best_.value) / more;
    add(fmt::format("{:.0f} GB more memory on each {}", more, own.gpu), std::move(best),
        price(each, "each GB"));
  }

  // The plan of one type of GPU alone, with as many of it as are wanted.
  void other_gpus() {
    std::vector<std::string> types;
    for (const auto* list : {&plan_.gpu, &plan_.what_if_gpu})
      for (const std::string& text : *list) {
        const std::string type = GpuStock::parse(text).gpu;
        const bool own = runner_.catalog().gpu(type).id == best_.fleet.engine.gpu.gpu ||
                         type == best_.fleet.engine.gpu.gpu;
        if (!own && std::find(types.begin(), types.end(), type) == types.end())
          types.push_back(type);
      }
    for (const std::string& type : types) {
      Scenario q = question_;
      PlanChoice& own = choice_of(q);
      own.gpu = {type};
      const bool money = plan_.objective == PlanObjective::kCost;
      if (money) {
        // The fewest GPUs are the least money, whatever one costs.
        own.objective = PlanObjective::kGpus, own.gpus = 0, own.budget = 0;
        q.cost = {};
      }
      std::optional<RacedFleet> r = best_of(q);
      if (!money || !r) {
        add(type + " alone", std::move(r));
        continue;
      }
      const double gpus = r->ranked;
      out_.push_back({type + " alone", std::move(r), std::nullopt,
                      fmt::format("better below {:.3g} USD for a GPU-hour", best_.ranked / gpus)});
    }
  }

  // The engines that many would choose without a search.
  void usual() {
    const EngineOption& own = best_.fleet.engine;
    const RatedOption *least = nullptr, *node = nullptr;
    for (const RatedOption& o : first_.options) {
      const EngineOption& e = o.option;
      if (e.gpu.gpu != own.gpu.gpu || e.engine != own.engine || e.format != own.format) continue;
      const ParallelPlan& layout = e.layout;
      if (layout.dp > 1 || layout.ep > 1 || layout.pp > 1) continue;
      if (least == nullptr || layout.tp < least->option.layout.tp) least = &o;
      if (node == nullptr || layout.tp > node->option.layout.tp) node = &o;
    }
    const auto compare = [&](const RatedOption* o, const char* what) {
      if (o == nullptr || (!best_.fleet.decode && o->option.name() == own.name())) return;
      Scenario q = question_;
      PlanChoice& choice = choice_of(q);
      choice.modes = {"aggregated"};
      if (!by_rate()) choice.gpus = 0, choice.budget = 0;
      FirstStage alone;
      alone.options = {*o}, alone.considered = 1;
      add(fmt::format("{}, {}", what, o->option.name()), best_of(q, alone));
    };
    compare(least, "the smallest engine that holds the model");
    if (node != least) compare(node, "the largest tensor-parallel engine");
  }

  Scenario question_;
  const PlanChoice plan_;
  const PlannedLoad& load_;
  const FirstStage& first_;
  const RacedFleet& best_;
  Trials& trials_;
  Runner& runner_;
  std::vector<Change> out_;
};

}  // namespace

std::string Change::text() const {
  if (!best) return fmt::format("with {}: nothing keeps the limits", what);
  if (gain && std::abs(*gain) < kSame && price.empty())
    return fmt::format("with {}: no better plan", what);
  std::string more;
  if (gain && std::abs(*gain) >= kSame)
    more = fmt::format(", {:.1f} % {}", 100 * std::abs(*gain), *gain > 0 ? "better" : "worse");
  return fmt::format("with {}: {}{}{}", what, best->fleet.name(), more,
                     price.empty() ? "" : ": " + price);
}

std::vector<Change> find_changes(const Scenario& question, const PlannedLoad& load,
                                 const FirstStage& first, const RacedFleet& best, Trials& trials,
                                 Runner& runner) {
  return Changes(question, load, first, best, trials, runner).all();
}

}  // namespace orrery
