// The table of a replayed Chakra trace (`orrery network --chakra`).
#pragma once

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// Prints the answer in 80 columns if it is that of a replayed trace. Returns whether it was.
bool print_replay(const Answer& answer);

}  // namespace orrery::cli
