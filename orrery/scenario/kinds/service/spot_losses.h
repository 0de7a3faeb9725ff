// The engines of a simulated service on spot machines that are taken away (`cost.tier: spot`).
//
// A machine is a node. An engine is lost as often as its machines are: preemptions_per_day for each
// node on which it runs, which the price book's entry or cost.preemptions_per_day states. Lost
// engines are failures of the fleet: their requests start again elsewhere, and another machine
// takes the place after failures.restart, for which it is paid. Engines that share a node are lost
// one by one, at the same rate each. Pools of different GPUs or layouts have the mean rate of their
// engines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// The engines of a pool.
struct SpotEngines {
  const ServedModel* served = nullptr;
  std::int64_t engines = 0;
};

// Adds the losses to `failures`, and what is assumed to `notes`. InputError: the engines would be
// lost more often than once a second.
void count_spot_losses(Facts& facts, const Scenario& scenario, std::span<const SpotEngines> pools,
                       Failures& failures, std::vector<std::string>& notes);

}  // namespace orrery
