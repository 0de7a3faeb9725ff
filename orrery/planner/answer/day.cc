#include "orrery/planner/answer/day.h"

#include <algorithm>
#include <map>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"

namespace orrery {
namespace {

constexpr double kHoursOfDay = 24;

// The fewest of at most `most` engines that keep the limits at a rate, with steps at a level.
std::int64_t least_at(FleetPlan fleet, double rate, std::int64_t most, int level, Trials& trials) {
  if (rate <= 0) return 0;
  std::int64_t low = 1;
  while (low < most) {
    const std::int64_t middle = low + (most - low) / 2;
    fleet.engines = middle;
    const bool meets = level == Trials::kAtConfidence ? trials.meets(fleet, rate)
                                                      : trials.meets_at(fleet, rate, level);
    if (meets) {
      most = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

DaySchedule day_schedule(std::vector<std::int64_t> engines, std::int64_t gpus_of_an_engine,
                         Seconds startup) {
  constexpr double kHour = 3600;
  DaySchedule out;
  const std::size_t parts = engines.size();
  const double part = kHoursOfDay / static_cast<double>(parts);
  const double start = startup.value() / kHour;
  const std::int64_t most = *std::max_element(engines.begin(), engines.end());
  double hours = 0, perfect = 0;
  for (std::int64_t number = 1; number <= most; ++number) {
    // Parts from one that needs this engine to the next one that does, around the day.
    std::size_t needed = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      if (engines[i] < number) continue;
      ++needed;
      std::size_t next = 1;
      while (engines[(i + next) % parts] < number) ++next;
      const double gap = static_cast<double>(next - 1) * part;
      hours += std::min(gap, start);
      if (gap > start) ++out.starts;
    }
    perfect += static_cast<double>(needed) * part;
  }
  const auto gpus = static_cast<double>(gpus_of_an_engine);
  out.perfect = gpus * perfect;
  out.gpu_hours = gpus * (perfect + hours);
  out.peak = gpus * static_cast<double>(most) * kHoursOfDay;
  out.engines = std::move(engines);
  return out;
}

DaySchedule plan_day(const PlanChoice& plan, const FleetPlan& fleet, int level, Trials& trials) {
  const FleetPlan working = fleet.at_work();
  std::map<double, std::int64_t> least;  // by the rate
  for (const double rate : plan.day) least[rate];
  std::int64_t most = working.engines;
  for (auto at = least.rbegin(); at != least.rend(); ++at)
    most = at->second = least_at(working, at->first, most, level, trials);
  std::vector<std::int64_t> engines;
  for (const double rate : plan.day) {
    const std::int64_t n = least[rate];
    engines.push_back(n == 0 ? 0 : n + spares(plan, fleet.engine, n));
  }
  return day_schedule(std::move(engines), fleet.engine.gpus(), plan.startup);
}

}  // namespace orrery
