// Engines of the catalog as the memory room knows them: with the memory of their files alone.
#pragma once

#include <string>

#include "orrery/base/bundle.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

inline EngineProfile engine_of(const std::string& id) {
  const auto file = Bundle().find("engines/" + id + ".yaml");
  EngineProfile engine;
  Fields fields;
  declare(fields, engine.memory);
  fields.read(parse_yaml(file->content, file->name).at("memory"));
  return engine;
}

}  // namespace orrery
