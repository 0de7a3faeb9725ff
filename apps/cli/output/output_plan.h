// The table of plans.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// A paragraph for each plan, the best first: what to deploy, and what it does and costs. The notes
// follow. In 80 columns.
std::string plan_table(const Answer& answer);

}  // namespace orrery::cli
