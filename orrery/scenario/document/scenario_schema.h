// JSON Schema (draft 2020-12) of scenario files, made from the declarations: what an editor checks
// and completes while a scenario is written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery {

// Every key with its type, unit, range, choices and default, aliases too; the constants of an
// engine's profile below engine.overrides.
nlohmann::ordered_json scenario_schema();

// The same for a person: Markdown tables, one for each group, with a line for each key. It stands
// in docs/scenario.md.
std::string scenario_keys_markdown();

}  // namespace orrery
