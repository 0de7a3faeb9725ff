// The keys of a scenario document, of all kinds of questions side by side: what a reader, a flag,
// the schema and the documentation are made from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/training/chance/chance.h"

namespace orrery {

// One value for every key. A Scenario is made of the groups that its kind of question has.
struct ScenarioValues {
  ScenarioValues() = default;
  // The keys that ask this question; all others have their defaults.
  explicit ScenarioValues(const Scenario& scenario);

  Scenario scenario;  // its setup, name and sentence; `asked` is not read
  SteadyQuestion steady;
  ServiceQuestion service;
  CollectiveQuestion collective;
  KernelQuestion kernel;
  TrainingQuestion training;  // its `chance` is not read
  ReplayQuestion replay;
  ChanceQuestion chance;
};

void declare(Fields& fields, ScenarioValues& keys);

// The keys that a kind of question takes at the top of a document; empty: all that other kinds do
// not own.
const std::vector<std::string>& keys_of(const Scenario::Asked& asked);
// Keys of `workload` that only a fixed batch or closed loop has.
const std::vector<std::string>& steady_keys();
// Groups that only a simulated service has; `load` is one.
const std::vector<std::string>& service_groups();

// A document that is read back as the same question: without the keys of other kinds of questions.
nlohmann::ordered_json to_json(const Scenario& scenario);

}  // namespace orrery
