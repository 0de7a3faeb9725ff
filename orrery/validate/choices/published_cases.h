// Questions with a published best layout: catalog/validation/planner-cases.yaml.
//
// Each is a scenario (or a list of them) that sweeps the layouts of its search space, and the
// layout that experts chose or that won a sweep. What the others reach is often not published, so
// that nothing is measured here: the published layout's predicted score should be near the best
// predicted one. The score is that by which the planner ranks (scenario/answer/prospect.h): the
// training throughput per GPU times the chance that the layout fits in memory, or the service's
// output tokens/s per GPU, which no limit bounds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct PublishedCase {
  std::string id, without;  // `without`: the source that the constants are fitted without
  // The published layout by swept keys ("tp": "8"). A key that it lacks takes its best value.
  std::map<std::string, std::string> expert;
};

// InputError with the place in the file: an unknown or absent key.
std::vector<PublishedCase> read_published_cases(const Bundle& bundle);

struct PublishedAnswer {
  double best = 0, expert = 0;  // predicted scores; 0: the expert's layout does not fit
  std::string layout;           // the best: {"tp":1,"pp":2}
  std::size_t layouts = 0;      // that fit
};

// InputError and NoData as Runner::run; Infeasible: no layout fits.
PublishedAnswer answer_of(const PublishedCase& question, const Bundle& bundle);

// `bundle` with the text `constants` in place of the training constants (training/constants.yaml).
Bundle with_training_constants(const Bundle& bundle, std::string constants);

}  // namespace orrery
