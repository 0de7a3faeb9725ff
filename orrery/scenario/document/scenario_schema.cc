#include "orrery/scenario/document/scenario_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "orrery/serving/profile/engine_profile.h"

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
    for (const Field::Switch& s : f.switches())
      properties[s.name] = {{"type", "boolean"},
                            {"description", fmt::format("as {}: {}", f.name(), s.value)}};
  }
}

Json schema_of(const Fields& fields) {
  Json schema = fields.schema();
  add_aliases(fields, schema);
  return schema;
}

// The keys of an engine's profile.
struct EngineForm {
  EngineForm() { declare(fields, profile); }
  EngineProfile profile;
  Fields fields;
};

// The text as a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

// A number without an exponent: 1048576, not 1.04858e+06.
std::string limit_text(double v) {
  constexpr double kLong = 1e8;
  return std::abs(v) < kLong && v == std::floor(v) ? fmt::format("{:.0f}", v)
                                                   : fmt::format("{:g}", v);
}

std::string range_text(const Field& f) {
  constexpr double kWhole = 2147483647;  // an int's own range says nothing
  const bool low = std::isfinite(f.least()) && f.least() >= -kWhole;
  const bool high = std::isfinite(f.most()) && (f.most() < kWhole || f.most() > kWhole + 1);
  const bool quantity = f.dimension() != Dimension::kNone;
  const auto limit = [&](double v) {
    return quantity ? exact_text(f.dimension(), v) : limit_text(v);
  };
  const std::string unit = quantity || f.unit().empty() ? "" : " " + f.unit();
  if (low && high) return fmt::format("{} to {}{}", limit(f.least()), limit(f.most()), unit);
  if (low) return fmt::format("at least {}{}", limit(f.least()), unit);
  if (high) return fmt::format("at most {}{}", limit(f.most()), unit);
  return "";
}

std::string values_text(const Field& f) {
  if (!f.choices().empty()) {
    std::vector<std::string> names = f.choices();
    std::erase(names, "");  // stands for a default
    return fmt::format("{}", fmt::join(names, ", "));
  }
  std::string type;
  switch (f.type()) {
    case Field::Type::kBool:
      return "true, false";
    case Field::Type::kInt:
      type = "whole number";
      break;
    case Field::Type::kNumber:
      type = "number";
      break;
    case Field::Type::kQuantity:
      type = fmt::format("with its unit ({})", base_unit(f.dimension()));
      break;
    case Field::Type::kList:
      type = "one or several";
      break;
    case Field::Type::kGroup:
      return "keys";
    default:
      type = "text";
  }
  const std::string range = range_text(f);
  return range.empty() ? type : type + ", " + range;
}

std::string default_text(const Field& f) {
  if (f.is_required()) return "required";
  if (!f.default_text().empty()) return f.default_text();
  if (f.type() == Field::Type::kList) {
    std::string values;
    for (const auto& v : f.json())
      values += (values.empty() ? "" : ", ") + (v.is_string() ? v.get<std::string>() : v.dump());
    return values;
  }
  return "";
}

void add_rows(const Fields& fields, const std::string& prefix, bool defaults, std::string& out) {
  for (const Field& f : fields.all()) {
    if (f.group() != nullptr) {
      add_rows(*f.group(), prefix + f.name() + ".", defaults, out);
      continue;
    }
    std::string doc = f.doc();
    if (!f.need().empty()) doc += "; needs " + f.need();
    for (const Field::Switch& s : f.switches())
      doc += fmt::format("; also `{}: true` for {}", s.name, s.value);
    for (const Field::Switch& s : f.spellings()) doc += fmt::format("; {} is {}", s.name, s.value);
    for (const std::string& alias : f.aliases()) doc += fmt::format("; also `{}`", alias);
    out += fmt::format("| `{}{}` | {} | {} | {} |\n", prefix, f.name(), cell(values_text(f)),
                       cell(defaults ? default_text(f) : ""), cell(doc));
  }
}

std::string table(const std::string& title, const std::string& rows) {
  return fmt::format("### {}\n\n| key | values | default | meaning |\n|---|---|---|---|\n{}\n",
                     title, rows);
}

}  // namespace

std::string scenario_keys_markdown(const Kinds& kinds) {
  std::string plain, groups;
  for (const Field& f : kinds.keys().all()) {
    if (f.group() == nullptr) {
      plain += fmt::format("| `{}` | {} | {} | {} |\n", f.name(), values_text(f),
                           cell(default_text(f)), cell(f.doc()));
      continue;
    }
    std::string rows;
    add_rows(*f.group(), f.name() + ".", true, rows);
    groups += table(fmt::format("`{}`: {}", f.name(), f.doc()), rows);
  }
  const EngineForm engine;
  std::string rows;
  add_rows(engine.fields, "engine.overrides.", false, rows);
  groups += table("`engine.overrides`: any constant of the engine's profile, which has its default",
                  rows);
  groups.pop_back();
  return table("Keys of no group", plain) + groups;
}

Json scenario_schema(const Kinds& kinds) {
  Json body = schema_of(kinds.keys());
  const EngineForm engine;
  Json overrides = schema_of(engine.fields);
  overrides.erase("required");
  overrides["description"] = "constants of the engine's profile that differ";
  body["properties"]["engine"]["properties"]["overrides"] = std::move(overrides);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", fmt::format("Orrery scenario, format {}", kScenarioFormat)}};
  schema.update(body);
  return schema;
}

}  // namespace orrery
