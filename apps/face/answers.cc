#include "apps/face/answers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/face/verb_keys.h"

namespace orrery::face {

Answer answer(Runner& runner, std::string_view verb, const ScenarioSweep& asked,
              RunOptions options) {
  const Verb& of = VerbKeys::of(verb).verb();
  if (of.narrow) of.narrow(asked.points, options);
  return runner.run(asked, options);
}

std::string json_text(std::span<const Answer> answers, bool breakdown) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Answer& a : answers) all.push_back(to_json(a, breakdown));
  std::string text = (all.size() == 1 ? all[0] : all).dump(1);
  text += '\n';
  return text;
}

int exit_code(std::span<const Answer> answers) {
  bool any = false, fits = false;
  for (const Answer& a : answers) {
    for (const Point& p : a.points) any = true, fits |= p.feasibility.fits;
  }
  return any && !fits ? 3 : 0;
}

}  // namespace orrery::face
