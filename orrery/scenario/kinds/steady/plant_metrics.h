// The power and the emissions of the plant of a steady load.
#pragma once

#include <cstdint>

#include "orrery/energy/account/plant.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// Counts what the scope of the account does (count_scope), and adds the emissions where they are
// asked for. `boards`: all GPUs of the deployment. `osl`: tokens that a request generates.
void add_plant_metrics(const PlantAccount& account, const ScopedBoards& boards, std::int64_t osl,
                       const ClosedFormResult& result, Point& point);

}  // namespace orrery
