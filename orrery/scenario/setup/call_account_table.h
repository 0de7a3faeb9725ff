// The money, plant and emissions of calls (call_account.h) as a table.
#pragma once

#include <initializer_list>
#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A line for each point and a column for each figure that the question asks for, for 80 columns;
// empty where it asks for none. `keys`: of the values in `at` that begin a line.
std::string call_account_table(const Answer& answer, std::initializer_list<const char*> keys);

}  // namespace orrery
