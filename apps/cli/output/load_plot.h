// First tokens and time between tokens over the request rate, as one SVG image.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// Two panels side by side: TTFT and TPOT in milliseconds, on a logarithmic axis, over the rate in
// requests a second. Each shows the mean with its 90 % interval as a band, and the 99th percentile
// as a dashed line. InputError if fewer than two points of `answer` have a finite rate.
std::string load_plot(const Answer& answer);

}  // namespace orrery::cli
