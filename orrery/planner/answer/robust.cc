#include "orrery/planner/answer/robust.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Drift {
  double load = 0, lengths = 0;  // shares
};

[[noreturn]] void fail(const std::string& text) {
  throw InputError(
      fmt::format("plan.robust {}: expected load:20% or lengths:10%, below 100 %", text));
}

Drift drift_of(const std::vector<std::string>& texts) {
  Drift out;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos || text.back() != '%') fail(text);
    double percent = 0;
    const char* const end = text.data() + text.size() - 1;
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, percent);
    if (error != std::errc() || at != end || percent < 0 || percent >= 100) fail(text);
    const std::string what = text.substr(0, colon);
    if (what != "load" && what != "lengths") fail(text);
    (what == "load" ? out.load : out.lengths) = percent / 100;
  }
  return out;
}

// A whole number of tokens times a factor.
std::string scaled(const std::string& length, double factor) {
  std::int64_t tokens = 0;
  const char* const end = length.data() + length.size();
  const auto [at, error] = std::from_chars(length.data(), end, tokens);
  if (error != std::errc() || at != end)
    throw InputError(fmt::format(
        "plan.robust lengths: needs a trace, or load.isl and load.osl as numbers of tokens, not {}",
        length));
  return std::to_string(
      std::max<std::int64_t>(1, std::llround(static_cast<double>(tokens) * factor)));
}

struct Case {
  std::string name;
  Scenario question;
};

Case case_of(const Scenario& question, double load, double lengths) {
  Case out{"", question};
  auto& asked = planned(out.question);
  ServiceQuestion& service = asked.service;
  asked.choice.top = 1;
  const auto add = [&out](double factor, const char* what) {
    if (factor == 1) return;
    out.name +=
        fmt::format("{}{} {:+.3g} %", out.name.empty() ? "" : ", ", what, 100 * (factor - 1));
  };
  add(load, "load"), add(lengths, "lengths");
  if (out.name.empty()) out.name = "the load as asked";
  if (service.trace.empty()) {
    service.rate *= load;
    if (lengths != 1)
      service.isl = scaled(service.isl, lengths), service.osl = scaled(service.osl, lengths);
  } else {
    service.time_scale /= load, service.length_scale *= lengths;
  }
  return out;
}

std::vector<double> factors(double share) {
  if (share <= 0) return {1};
  return {1 - share, 1, 1 + share};
}

// The least fleets of a case: the best of all options, and that of any one option.
class Searched {
 public:
  Searched(Runner& runner, const Case& asked, SearchContext& context)
      : question_(asked.question),
        load_(planned_load(planned(question_).service, notes_)),
        first_(first_stage(runner, question_, load_, context)),
        trials_(runner, question_, load_, context) {}

  std::vector<RacedFleet> best() { return race(question_, load_, first_, trials_).best; }
  std::vector<RacedFleet> of(const std::string& option) {
    FirstStage alone;
    for (const RatedOption& o : first_.options)
      if (o.option.name() == option) alone.options.push_back(o);
    return race(question_, load_, alone, trials_).best;
  }

 private:
  std::vector<std::string> notes_;
  const Scenario& question_;
  const PlannedLoad load_;
  const FirstStage first_;
  Trials trials_;
};

}  // namespace

std::string RobustPlan::text() const {
  if (missed > 0)
    return fmt::format("{} misses the limits in {} cases", fleet.engine.name(), missed);
  const std::string engines =
      fmt::format("up to {} engine{}", fleet.engines, fleet.engines == 1 ? "" : "s");
  if (regret <= 0)
    return fmt::format("{}, {}, is the best in every case", fleet.engine.name(), engines);
  return fmt::format("{}, {}, is never more than {:.1f} % over the best plan (at {})",
                     fleet.engine.name(), engines, 100 * regret, worst);
}

std::vector<RobustPlan> robust_plans(Runner& runner, const Scenario& question,
                                     const std::vector<RacedFleet>& shown, SearchContext& context) {
  const Drift drift = drift_of(planned(question).choice.robust);
  std::vector<Case> cases;
  for (const double load : factors(drift.load))
    for (const double lengths : factors(drift.lengths))
      cases.push_back(case_of(question, load, lengths));
  std::vector<std::unique_ptr<Searched>> searched;
  std::vector<double> best;
  std::map<std::string, RobustPlan> candidates;  // by the option's name
  for (const RacedFleet& r : shown) candidates[r.fleet.engine.name()];
  for (const Case& c : cases) {
    searched.push_back(std::make_unique<Searched>(runner, c, context));
    const std::vector<RacedFleet> found = searched.back()->best();
    best.push_back(found.empty() ? kNone : found.front().ranked);
    if (!found.empty()) candidates[found.front().fleet.engine.name()];
  }
  std::vector<RobustPlan> out;
  for (auto& [option, plan] : candidates) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (best[i] == kNone) continue;  // no plan keeps these limits: nothing to regret
      const std::vector<RacedFleet> own = searched[i]->of(option);
      if (own.empty()) {
        ++plan.missed;
        continue;
      }
      const RacedFleet& r = own.front();
      if (plan.worst.empty() || r.fleet.engines > plan.fleet.engines) plan.fleet = r.fleet;
      const double regret = r.ranked / best[i] - 1;
      if (plan.worst.empty() || regret > plan.regret)
        plan.regret = std::max(0.0, regret), plan.worst = cases[i].name;
    }
    if (!plan.worst.empty()) out.push_back(plan);
  }
  std::stable_sort(out.begin(), out.end(), [](const RobustPlan& a, const RobustPlan& b) {
    return std::pair(a.missed, a.regret) < std::pair(b.missed, b.regret);
  });
  return out;
}

}  // namespace orrery
