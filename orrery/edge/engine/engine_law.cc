#include "orrery/edge/engine/engine_law.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr const char* kLawFile = "edge/laws/engines.yaml";

}  // namespace

double EngineLaw::factor(std::string_view engine, std::string_view architecture) const {
  return std::exp(all + effect_of(engines, engine) + effect_of(architectures, architecture));
}

double EngineLaw::deviation(std::string_view engine, std::string_view architecture) const {
  const double of_engine = engines.contains(engine) ? 0 : unknown;
  const double of_architecture = architectures.contains(architecture) ? 0 : unknown;
  return std::hypot(known, of_engine, of_architecture);
}

EngineLaw read_engine_law(const Bundle& bundle) {
  const auto file = bundle.find(kLawFile);
  if (!file) throw InputError(fmt::format("catalog/{}: no such law of engines", kLawFile));
  EngineLaw law;
  Fields f;
  f.add("recipe", law.recipe, "what was fitted").required();
  f.add("all", law.all, "logarithm of the factor of all engines").range(-3, 3).required();
  f.add("known", law.known, "deviation of what was measured on other GPUs").range(0.01, 3);
  f.add("unknown", law.unknown, "deviation of an engine or architecture that was not")
      .range(0.01, 3);
  add_effects(f, "engines", law.engines);
  add_effects(f, "architectures", law.architectures);
  f.read(parse_yaml(file->content, file->name));
  return law;
}

std::string engine_law_text(const EngineLaw& law) {
  return fmt::format(
             "# Made by `orrery fit edge`: do not edit. A law of engines "
             "(orrery/edge/engine/engine_law.h).\n"
             "recipe: \"{}\"\nall: {:.4f}\nknown: {:.4f}\nunknown: {:.4f}\n",
             law.recipe, law.all, law.known, law.unknown) +
         effects_text("engines", law.engines) + effects_text("architectures", law.architectures);
}

}  // namespace orrery
