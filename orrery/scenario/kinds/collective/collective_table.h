// The table of collectives, and of traces that are replayed on a network, of 80 columns.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

std::string collective_table(const Answer& answer);

}  // namespace orrery
