// The closed form (orrery/serving/closed_form) of a steady load on a served model.
#pragma once

#include <cstdint>

#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// Tokens of the longest request that memory is planned for.
std::int64_t planned_length(const Scenario& scenario, const SteadyQuestion& load);

// Sequences that decode in one batch. A paged cache holds each at its mean length while it decodes,
// an engine that reserves memory at its whole length.
std::int64_t capacity_of(const SteadyQuestion& load, const ServedModel& served,
                         std::int64_t length);

// `capacity`: capacity_of, at least 1. `with_terms` fills the terms of the typical steps.
ClosedFormResult closed_form_of(const SteadyQuestion& load, const ServedModel& served,
                                std::int64_t capacity, bool with_terms);

}  // namespace orrery
