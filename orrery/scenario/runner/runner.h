// Answers scenarios: hands each point of a question to what answers its kind.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/scenario/training/training_evaluator.h"

namespace orrery {

// Keeps the facts that it has read for the scenarios that follow. Not thread-safe.
class Runner {
 public:
  explicit Runner(Bundle bundle) : facts_(std::move(bundle)) {}

  // A point for each point of the sweep, in its order. A point that does not fit in memory has
  // feasibility.fits = false and its memory breakdown. A layout that breaks a rule of the model has
  // feasibility.fits = false and the rule. Infeasible: every point breaks the same rule.
  Answer run(const ScenarioSweep& sweep, const RunOptions& options = {});

  // Who answers questions about plans (planner/planner.h, a room above this one). Without it they
  // have no answer.
  using Planner = std::function<Answer(Runner&, const Scenario&)>;
  void set_planner(Planner planner) { planner_ = std::move(planner); }

  // The architecture of a model, by its id or the path of its config.json.
  const Architecture& architecture(const std::string& model) { return facts_.architecture(model); }

  // A run on one GPU type, for a search over layouts. The Runner outlives it.
  std::unique_ptr<TrainingEvaluator> evaluator(const Scenario& run);

  const Catalog& catalog() const { return facts_.catalog(); }
  const Bundle& bundle() const { return facts_.bundle(); }

 private:
  // Plans for each point of the sweep, in its order.
  Answer plans(const ScenarioSweep& sweep);

  Facts facts_;
  Planner planner_;
};

}  // namespace orrery
