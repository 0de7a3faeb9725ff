// The plant of a scenario: what is counted as its power, and the emissions of its electricity.
//
//   energy: {scope: facility, pue: 1.25, carbon: DEU, embodied: true}
#pragma once

#include <optional>
#include <string>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/cost_choice.h"

namespace orrery {

struct PlantChoice {
  // "gpu", "node" or "facility"; empty: the boards of GPUs, or the facility where emissions are
  // asked for.
  std::string scope;
  std::optional<double> pue;  // absent: the average of data centres
  std::string carbon;         // as CarbonFacts::intensity reads it; empty: not asked
  bool embodied = false;      // count what it took to make the boards, too

  bool asked() const { return !scope.empty() || pue || !carbon.empty(); }
  // The scope with its default.
  std::string counted() const {
    return !scope.empty() ? scope : carbon.empty() ? "gpu" : "facility";
  }
};

// `cost`: whose owned GPUs pay for electricity.
void declare(Fields& fields, PlantChoice& plant, const CostChoice& cost);

}  // namespace orrery
