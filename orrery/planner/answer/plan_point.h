// Points and messages of plans of services, whether they are one fleet or several.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "orrery/model/architecture/architecture.h"
#include "orrery/planner/bound/planned_load.h"
#include "orrery/planner/verify/proof.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

// "3: it does not fit in memory; 2: no data for this combination".
std::string counted(const std::map<std::string, std::int64_t>& reasons);

// A value for people; the scenario of a plan has all of its digits.
double to_four_digits(double v);

// Infeasible: the model has no context for a request of the load.
void check_lengths(const Scenario& question, const Architecture& model, const PlannedLoad& load);

// The point of a proved fleet: what it consists of, its chance and headroom, and the figures of its
// simulation.
Point point_of(const Proof& proof, const Scenario& question);

}  // namespace orrery
