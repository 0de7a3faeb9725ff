// Keys of an engine's scheduler as a scenario sets them.
#pragma once

#include <string>

#include "orrery/serving/schedulers/scheduler_kinds.h"

namespace orrery {

// Reads a text such as "recv_interval: 3", also of parameters that a policy has for itself.
inline void set_keys(EngineProfile::Scheduler& scheduler, const std::string& keys) {
  Fields fields;
  declare(fields, scheduler);
  fields.read(parse_yaml(keys, "keys"));
}

}  // namespace orrery
