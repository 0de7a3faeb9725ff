// The keys of a scenario document, for all kinds of questions in one declaration. The reader, the
// flags, the schema and the documentation are made from it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/training/chance/chance.h"

namespace orrery {

// One value for every key. A Scenario consists of the groups of its kind of question.
struct ScenarioValues {
  ScenarioValues() = default;
  // The values of a scenario; keys of other kinds of questions have their defaults.
  explicit ScenarioValues(const Scenario& scenario);

  Scenario scenario;  // its setup, name and sentence; `asked` is not read
  SteadyQuestion steady;
  ServiceQuestion service;
  CollectiveQuestion collective;
  KernelQuestion kernel;
  TrainingQuestion training;  // its `chance` is not read
  ReplayQuestion replay;
  EdgeQuestion edge;
  PlanChoice plan;  // the load and the limits of its question are those of `service`
  ChanceQuestion chance = usual_chance();
};

void declare(Fields& fields, ScenarioValues& keys);

// The keys that a kind of question takes at the top of a document; empty: all keys that no other
// kind owns.
const std::vector<std::string>& keys_of(const Scenario::Asked& asked);
// Keys of `workload` that only a fixed batch or closed loop has.
const std::vector<std::string>& steady_keys();
// Groups that only a simulated service has; `load` is one.
const std::vector<std::string>& service_groups();

// The document of a scenario. Reading it gives the same question. It lacks the keys of other kinds
// of questions.
nlohmann::ordered_json to_json(const Scenario& scenario);

}  // namespace orrery
