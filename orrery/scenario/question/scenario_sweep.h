// The `sweep` of a scenario file: any keys, each with the values that it takes in turn.
#pragma once

#include <nlohmann/json.hpp>

#include "orrery/scenario/question/scenario.h"

namespace orrery {

// A document with a `sweep`: one Scenario for each combination, in Scenario::variants. InputError:
// an empty sweep, more than 10,000 combinations, or what any of the scenarios is refused for.
Scenario read_swept_scenario(const Node& document);

// What is swept, as the file says it; null where nothing is.
nlohmann::ordered_json sweep_json(const Scenario& scenario);

// The values that a variant has, by their keys (short where that is enough), as a point names them.
nlohmann::ordered_json swept_values(const Scenario& scenario, const Scenario& variant);

}  // namespace orrery
