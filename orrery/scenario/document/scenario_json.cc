#include "orrery/scenario/document/scenario_json.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "orrery/scenario/kind/kinds.h"

namespace orrery {
namespace {

// The common keys and those of one kind. Each thread keeps a form for each kind that it wrote.
ScenarioForm& form_of(const QuestionKind& kind) {
  thread_local std::map<const QuestionKind*, std::unique_ptr<ScenarioForm>> kept;
  std::unique_ptr<ScenarioForm>& form = kept[&kind];
  if (form != nullptr) return *form;
  form = std::make_unique<ScenarioForm>();
  declare(form->fields, form->values.scenario, form->values.batch);
  for (const QuestionKind* taken : kind.takes)
    if (taken->keys.declare) taken->keys.declare(form->fields, form->values);
  if (kind.keys.declare) kind.keys.declare(form->fields, form->values);
  return *form;
}

void reset(const QuestionKind& kind, KeyValues& values) {
  if (kind.keys.reset) kind.keys.reset(values);
}

// The keys of the question, in the order of their declaration.
nlohmann::ordered_json written(const Scenario& s, const std::vector<std::string_view>& only) {
  const QuestionKind& kind = s.kind();
  ScenarioForm& form = form_of(kind);
  form.values.scenario = s;
  form.values.batch = SteadyQuestion();
  for (const QuestionKind* taken : kind.takes) reset(*taken, form.values);
  reset(kind, form.values);
  kind.put(s, form.values);
  nlohmann::ordered_json::object_t members;
  members.reserve(form.fields.all().size());
  for (const Field& f : form.fields.all()) {
    const bool absent = (f.name() == "objective" && s.objective.empty()) ||
                        (f.name() == "cost" && !s.cost.asked()) ||
                        (f.name() == "energy" && !s.plant.asked());
    const bool of_kind =
        only.empty() || std::find(only.begin(), only.end(), f.name()) != only.end();
    if (of_kind && !absent) members.emplace_back(f.name(), f.json());
  }
  nlohmann::ordered_json all = std::move(members);
  if (all.contains("hardware")) {
    if (!s.hardware.power_limit) all["hardware"].erase("power_limit");
    if (!s.hardware.clock) all["hardware"].erase("clock");
  }
  return all;
}

}  // namespace

nlohmann::ordered_json to_json(const Scenario& s) {
  const QuestionKind& kind = s.kind();
  std::vector<std::string_view> only;
  if (kind.top_keys) only = kind.top_keys(s).keys;
  nlohmann::ordered_json all = written(s, only);
  if (kind.tidy) kind.tidy(s, all);
  if (only.empty()) return all;
  nlohmann::ordered_json out;
  for (const std::string_view key : only) {
    const auto value = all.find(key);
    if (value != all.end()) out[std::string(key)] = std::move(*value);
  }
  return out;
}

}  // namespace orrery
