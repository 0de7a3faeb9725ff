// The table of networks and LLMs at the edge, of 80 columns.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A line for each point.
std::string edge_table(const Answer& answer);
// The same, with each kernel of a network or each term of an LLM, and its time.
std::string edge_explained(const Answer& answer);

}  // namespace orrery
