// The document of a scenario.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "orrery/scenario/question/scenario.h"

namespace orrery {

// Reading it gives the same question. It has the common keys and those of the question's kind.
nlohmann::ordered_json to_json(const Scenario& scenario);

}  // namespace orrery
