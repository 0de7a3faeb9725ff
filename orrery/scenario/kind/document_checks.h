// Checks that documents of several kinds have in common.
#pragma once

#include <string_view>

#include "orrery/base/node.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// Refuses a power limit and a clock of the boards, where nothing depends on them. `of`: what the
// document asks about, "a replay".
void refuse_knobs(const Node& document, const Scenario& scenario, std::string_view of);

// Refuses keys of `workload` that a load takes the place of.
void refuse_batch_lengths(const Node& document);

}  // namespace orrery
