// Answers scenarios: reads the facts that a question names and hands the question to what answers
// its kind.
#pragma once

#include <utility>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Keeps the facts that it has read for the scenarios that follow. Not thread-safe.
class Runner {
 public:
  explicit Runner(Bundle bundle) : facts_(std::move(bundle)) {}

  // A point that does not fit in memory has feasibility.fits = false and its memory breakdown. A
  // layout that breaks a rule of the model throws Infeasible if it is the only point; in a sweep
  // its point has feasibility.fits = false.
  Answer run(const Scenario& scenario, const RunOptions& options = {});

  const Catalog& catalog() const { return facts_.catalog(); }
  const Bundle& bundle() const { return facts_.bundle(); }

 private:
  Answer run_variants(const Scenario& scenario, const RunOptions& options);

  Facts facts_;
};

}  // namespace orrery
