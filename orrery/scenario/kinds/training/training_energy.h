// The energy of a training iteration by what it is spent on.
//
//   boards     awake, kernels, arithmetic, memory, and the exposed collectives by their kind: what
//              the law of the boards' power (energy/power/step_power.h) ascribes to each
//   nodes      node_links: transceivers and leaf switches between nodes, from the energy of a bit
//              (energy/account/link_energy.h) of all collectives; node_rest: what else their hosts
//              draw; power_supplies
//   facility   cooling: what the PUE adds
//
// The kernels are also divided by their cost (work_of_kinds.h): of the arithmetic by the FLOPs of
// all stages, and of the traffic by that of the kernels that the law counts.
//
// The rows add up to the energy of an iteration in `energy.scope`. The links are not added to the
// boards and nodes, whose power holds them: those within a node are in the rows of the boards,
// those between nodes are taken out of the rest of the nodes, which is never less than nothing.
#pragma once

#include <optional>

#include "orrery/energy/power/clock_power.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/training/figures/training_figures.h"

namespace orrery {

// The boards of a job in an iteration.
struct IterationBoards {
  const Gpu& gpu;
  const ClockedSteps& steps;
  Estimate<Watts> power;  // of one
  double number = 1;
};

// Adds the metric link_energy, a note of what is left out of it, and the rows. `plant` is absent
// where the boards alone are counted.
void add_iteration_energy(Facts& facts, const TimedIteration& timed, const IterationBoards& boards,
                          const std::optional<PlantAccount>& plant, const Cluster& cluster,
                          const NetworkModel& network, Point& point);

}  // namespace orrery
