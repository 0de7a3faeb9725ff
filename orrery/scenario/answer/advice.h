// One line of advice: the bottleneck of a phase, and a change that would help.
#pragma once

#include <string>
#include <string_view>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// The advice for one phase ("prefill" or "decode") of an answered point, from the times of its
// kernels.
std::string advice(const Point& point, std::string_view phase);

}  // namespace orrery
