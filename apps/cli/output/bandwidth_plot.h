// A self-contained HTML page that draws bus bandwidth over message size: a line with its 90 % band
// for each number of GPUs. Both axes are logarithmic.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// The page for an answer about collectives.
std::string bandwidth_page(const Answer& answer);

}  // namespace orrery::cli
