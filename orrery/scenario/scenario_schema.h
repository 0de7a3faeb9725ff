// JSON Schema (draft 2020-12) of scenario files, made from the declarations: what an editor checks
// and completes while a scenario is written.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace orrery {

// Every key with its type, unit, range, choices and default, aliases too; the constants of an
// engine's profile below engine.overrides.
nlohmann::ordered_json scenario_schema();

}  // namespace orrery
