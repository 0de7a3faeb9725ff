// Answers scenarios: hands each point of a question to what answers its kind.
#pragma once

#include <functional>
#include <utility>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Keeps the facts that it has read for the scenarios that follow. Not thread-safe.
class Runner {
 public:
  explicit Runner(Bundle bundle) : facts_(std::move(bundle)) {}

  // A point for each point of the sweep, in its order; of a plan or of a comparison there may be
  // several. A point that does not fit in memory has feasibility.fits = false and its memory
  // breakdown. A layout that breaks a rule of the model has feasibility.fits = false and the rule.
  // Infeasible: every point breaks the same rule.
  Answer run(const ScenarioSweep& sweep, const RunOptions& options = {});
  // The same with another function in the place of the kind's own.
  using AnswerPoint = std::function<void(const Answering& with, const Scenario&, PointAnswers&)>;
  Answer run(const ScenarioSweep& sweep, const RunOptions& options, const AnswerPoint& answer);

  // The architecture of a model, by its id or the path of its config.json.
  const Architecture& architecture(const std::string& model) { return facts_.architecture(model); }

  Facts& facts() { return facts_; }
  const Catalog& catalog() const { return facts_.catalog(); }
  const Bundle& bundle() const { return facts_.bundle(); }

 private:
  Facts facts_;
};

}  // namespace orrery
