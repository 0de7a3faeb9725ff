// Remedies that kinds have in common.
#pragma once

#include <vector>

#include "orrery/scenario/kind/kind_answer.h"

namespace orrery {

// More tensor-parallel ranks, up to 16.
std::vector<Remedy> wider_layouts(const Scenario& scenario);

}  // namespace orrery
