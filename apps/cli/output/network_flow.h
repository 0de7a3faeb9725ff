// The table of a replayed Chakra trace (`orrery network --chakra`).
#pragma once

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// Prints the answer, 80 columns wide, if it is that of a replayed trace; false otherwise.
bool print_replay(const Answer& answer);

}  // namespace orrery::cli
