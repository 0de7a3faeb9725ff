// JSON Schema (draft 2020-12) of scenario files, made from the declarations. Editors use it to
// check and complete a scenario while it is written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "orrery/scenario/kind/kinds.h"

namespace orrery {

// The schema: every key with its type, unit, range, choices, default and aliases. The constants of
// an engine's profile are below engine.overrides.
nlohmann::ordered_json scenario_schema(const Kinds& kinds);

// The same as Markdown tables, one for each group, with a line for each key. docs/keys.md contains
// them.
std::string scenario_keys_markdown(const Kinds& kinds);

}  // namespace orrery
