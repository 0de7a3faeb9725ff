// The power and the emissions of the plant of a steady load.
#pragma once

#include <cstdint>

#include "orrery/energy/account/plant.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// Adds `plant_power`, the power of the whole deployment in the scope of the account, if that is
// wider than the GPUs, and the emissions where they are asked for. In a wider scope the point's
// metrics of energy are those of the scope, too. `boards`: all GPUs of the deployment. `osl`:
// tokens that a request generates.
void add_plant_metrics(const PlantAccount& account, const Boards& boards, std::int64_t osl,
                       const ClosedFormResult& result, Point& point);

}  // namespace orrery
