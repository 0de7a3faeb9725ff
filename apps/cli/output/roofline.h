// The roofline as a self-contained HTML page: for each GPU the rate that bandwidth and peak allow
// over arithmetic intensity, and predicted kernels as points on it. Both axes are logarithmic.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// The page for an answer about kernels. InputError: none of the kernels is a matrix product.
std::string roofline_page(const Answer& answer);

}  // namespace orrery::cli
