// The bounds (answer/bound_rows.h) of a simulated service.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

// Appends the bounds of the metrics that `p` has to Point::bounds.
void bound_service(const ServedModel& served, const ServiceQuestion& service, Point& p);

}  // namespace orrery
