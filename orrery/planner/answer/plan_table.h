// The table and the page of plans. Both REQUIRE a point.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A paragraph for each plan, the best first: what to deploy, and what it does and costs. The notes
// follow. In 80 columns.
std::string plan_table(const Answer& answer);

// The page of plans in Markdown: a line for each, then what the best one does, with its notes.
std::string plan_page(const Answer& answer);

}  // namespace orrery
