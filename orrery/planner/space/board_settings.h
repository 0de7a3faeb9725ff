// The settings of boards that a plan chooses from: its lists plan.power_limits and plan.clocks.
#pragma once

#include <string>
#include <vector>

#include "orrery/energy/power/clock_power.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/gpu.h"
#include "orrery/planner/question/plan_question.h"

namespace orrery {

// The boards' own limit and clock first, then every listed limit at every listed clock, as far as
// the data sheet's range has them. Limits and clocks that a GPU cannot be set to are left out: a
// plan compares GPUs with unlike ranges. InputError: a text that is no power or no frequency.
std::vector<PowerKnobs> board_settings(const PlanChoice& plan, const Gpu& gpu);

// InputError: a listed limit or clock that no GPU of the plan can be set to, with the ranges.
void check_board_settings(const PlanChoice& plan, const Catalog& catalog);

// ", 500 W, 1410 MHz": what a name of a plan says of them; empty: the boards' own.
std::string to_text(const PowerKnobs& boards);

// The commands that set the boards before the start, as comments of a shell script.
std::string board_commands(const PowerKnobs& boards);

}  // namespace orrery
