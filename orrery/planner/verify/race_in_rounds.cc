#include "orrery/planner/verify/race_in_rounds.h"

#include "orrery/planner/question/plan_question.h"

#include <algorithm>

namespace orrery {

RaceResult race_in_rounds(const Scenario& question, const PlannedLoad& load,
                          const FirstStage& first, Trials& trials) {
  if (!load.part) return race(question, load, first, trials);
  Scenario more = question;
  auto& top = planned(more).choice.top;
  top = std::max(top, kRacedAgain);
  RaceResult out = race(more, load, first, trials);
  FirstStage few;
  for (const RatedOption& o : first.options) {
    const std::string name = o.option.name();
    const auto takes = [&name](const RacedFleet& r) {
      return r.fleet.engine.name() == name || (r.fleet.decode && r.fleet.decode->name() == name);
    };
    if (std::any_of(out.best.begin(), out.best.end(), takes)) few.options.push_back(o);
  }
  if (out.best.empty()) return out;
  out.best_of_part = out.best.front();
  const auto raced = static_cast<std::int64_t>(out.best.size());
  PlannedLoad whole = load;
  whole.part = nullptr;
  Trials of_all = trials.with(whole);
  out.best = race(question, whole, few, of_all).best;
  trials.count(of_all);
  if (const std::int64_t left = raced - static_cast<std::int64_t>(out.best.size()); left > 0)
    out.left[out.best.empty() ? kMisses : kWorse] += left;
  return out;
}

}  // namespace orrery
