// The engines of a plan over a day whose load rises and falls.
//
// For each part of the day the plan has the fewest engines that keep the limits at its rate with
// the chance of the plan, as simulated for that rate. An engine of one number is needed in some
// parts and not in others: the first engine perhaps always, the last one at the peak alone. Over a
// gap of length g in which it is not needed it is kept if g <= startup, else stopped and started
// again, which takes GPU hours for `startup`. Since the engines of the numbers do not depend on
// each other, the sum of these choices is the schedule with the fewest GPU hours.
//
//   gpu_hours = gpus * (sum over parts of n h + sum over gaps of min(g, startup))
//
// The bound of perfect scaling is the same without start-up times; a plan of one size has the
// engines of the peak all day.
#pragma once

#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/verify/race.h"

namespace orrery {

struct DaySchedule {
  std::vector<std::int64_t> engines;            // needed in each part, spare ones included
  double gpu_hours = 0, perfect = 0, peak = 0;  // of a day
  std::int64_t starts = 0;                      // of engines, in a day
};

// The schedule of engines that are needed in equal parts of a day, each day like the last.
DaySchedule day_schedule(std::vector<std::int64_t> engines, std::int64_t gpus_of_an_engine,
                         Seconds startup);

// The fewest engines of a plan at the rate of each part of plan.day. REQUIRES an aggregated plan
// that keeps the limits at the highest of these rates. `level`: the slowest at which it keeps them
// there (RacedFleet::slowest).
DaySchedule plan_day(const PlanChoice& plan, const FleetPlan& fleet, int level, Trials& trials);

}  // namespace orrery
