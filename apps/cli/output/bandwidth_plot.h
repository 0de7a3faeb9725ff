// Bus bandwidth over message size as a self-contained HTML page: a line and its 90 % band for each
// number of GPUs. Both axes are logarithmic.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// `answer`: of a scenario with a collective.
std::string bandwidth_page(const Answer& answer);

}  // namespace orrery::cli
