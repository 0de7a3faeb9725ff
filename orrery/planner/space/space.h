// The engines among which a plan is chosen: every combination of the question's GPUs, engines,
// formats, layouts, limits of a step, power limits and clocks, with the question's speculation and
// without it, that has at most as many GPUs as an engine may have. Engines that cache prefixes are
// there with and without it where that makes a difference to the load.
//
// Tensor-parallel ranks are powers of two up to the GPUs of a node, pipeline stages powers of two.
// A model with experts is also laid out with its experts divided over all ranks, and with attention
// that is data-parallel instead of tensor-parallel; over more than a node where PlanChoice::dp says
// so. KV caches are divided among tensor-parallel ranks as PlanChoice::cp lists. Whether an option
// fits and keeps the rules of the model is told by the first stage (bound/engine_bound.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

// In the order of the question's lists. `caching`: the engines that cache prefixes, for a load
// whose prompts begin alike. REQUIRES a PlanQuestion. InputError: an unknown GPU, or lists without
// any option.
std::vector<EngineOption> engine_options(const Scenario& question, const Catalog& catalog,
                                         const Architecture& model,
                                         const std::set<std::string>& caching = {});

}  // namespace orrery
