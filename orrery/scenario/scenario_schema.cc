#include "orrery/scenario/scenario_schema.h"

#include <nlohmann/json.hpp>

#include "orrery/scenario/scenario.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// Aliases are keys too.
void add_aliases(const Fields& fields, Json& schema) {
  Json& properties = schema["properties"];
  for (const Field& f : fields.all()) {
    if (f.group() != nullptr) add_aliases(*f.group(), properties[f.name()]);
    for (const std::string& alias : f.aliases()) {
      Json copy = properties[f.name()];
      copy["description"] = "as " + f.name();
      properties[alias] = std::move(copy);
    }
  }
}

template <class T>
Json schema_of() {
  T value;
  Fields fields;
  declare(fields, value);
  Json schema = fields.schema();
  add_aliases(fields, schema);
  return schema;
}

}  // namespace

Json scenario_schema() {
  Json body = schema_of<Scenario>();
  Json overrides = schema_of<EngineProfile>();
  overrides.erase("required");
  overrides["description"] = "any constants of the engine's profile";
  body["properties"]["engine"]["properties"]["overrides"] = std::move(overrides);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Orrery scenario, format 1.0"}};
  schema.update(body);
  return schema;
}

}  // namespace orrery
