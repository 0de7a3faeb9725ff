#include "orrery/edge/device/law_effects.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace orrery {

double effect_of(const LawEffects& effects, std::string_view name) {
  const auto found = effects.find(name);
  return found == effects.end() ? 0 : found->second;
}

void add_effects(Fields& fields, const char* list, LawEffects& effects) {
  fields.custom(
      list, Field::Type::kList,
      [&effects](const Node& node) {
        for (const Node& item : node.items())
          effects[item.at("name").as_string()] = item.at("beyond").as_double();
      },
      [] { return nlohmann::ordered_json(); }, "logarithms of the factors beyond that of all");
}

std::string effects_text(const char* list, const LawEffects& effects) {
  std::string text = fmt::format("{}:{}\n", list, effects.empty() ? " []" : "");
  for (const auto& [of, beyond] : effects)
    text += fmt::format("  - {{name: {}, beyond: {:.4f}}}\n", of, beyond);
  return text;
}

}  // namespace orrery
