// The table of single kernels, of 80 columns.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

std::string kernel_table(const Answer& answer);

}  // namespace orrery
