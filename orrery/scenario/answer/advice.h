// "What limits you, and what would help" in a line.
#pragma once

#include <string>
#include <string_view>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// From the kernels of one phase ("prefill" or "decode") of an answered point.
std::string advice(const Point& point, std::string_view phase);

}  // namespace orrery
