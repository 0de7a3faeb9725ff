// What `orrery network` prints of the flow level alone.
#pragma once

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// Prints the answer, 80 columns wide, if it is that of a replayed trace; false otherwise.
bool print_replay(const Answer& answer);

}  // namespace orrery::cli
