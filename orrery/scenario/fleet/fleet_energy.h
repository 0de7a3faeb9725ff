// The power of a simulated fleet over time.
//
// Time is divided into windows (serving/steps/step_windows.h). In a window the engines of a pool
// are busy while a step runs, awake in between, and absent where an autoscaler has removed them;
// engines that start or restart are awake. Power while they are busy is that of step_power.h for
// the work of the steps that start in the window: decode steps with their mean number of sequences
// at their mean context, and steps with prompts, likewise. The work takes the time of these steps.
// A window in which no step starts has the power of the one before. Draft tokens and adapters are
// left out of the work.
//
//   boards of a pool = GPUs of an engine * (power * busy + awake * (present - busy))
//   plant            = the boards with what the account's scope counts, window by window
//
// Boards that are absent draw nothing, nor does their part of their servers. The energy of a run is
// the sum over its windows.
#pragma once

#include <optional>
#include <vector>

#include "orrery/energy/power/step_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/scenario/setup/work_of_kinds.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// The engines of a pool, as consumers of power.
struct PoweredPool {
  const ServedModel* served = nullptr;
  std::optional<PlantAccount> account;  // absent: the boards alone count
};

// The energy of a pool by what it is spent on.
struct EnergyParts {
  Joules idle;  // boards of engines in which no step runs
  // Boards while steps run, as the law of their power ascribes it (PowerParts).
  Joules awake, kernels, arithmetic, memory, collectives;
  // The rest of the nodes, their power supplies, and what the PUE adds, as far as the scope of the
  // account counts them.
  Joules node_rest, supplies, cooling;

  EnergyParts& operator+=(const EnergyParts& more);
  // In the order of the fields, those that are not zero.
  std::vector<EnergyRow> rows() const;
};

struct PoolEnergy {
  Joules boards, plant;  // plant: in the scope of the account
  EnergyParts parts;     // add up to `plant`
  // The kernels, arithmetic and memory of `parts` by kinds of kernels, where that was asked for.
  std::vector<KindEnergy> kinds;
  Seconds gpu_time;      // sum over its GPUs of the time in which they were present
  double most_gpus = 0;  // of its GPUs that were present in one window, on average over the window
  // Under a power limit or a clock: the clocks summed over the time of busy GPUs, and this time.
  double cycles = 0;
  Seconds governed;

  PoolEnergy& operator+=(const PoolEnergy& more);

  // Its boards on average over a run of this length.
  Boards boards_over(Seconds run) const;
};

struct FleetEnergy {
  std::vector<PoolEnergy> pools;
  Seconds window, end;        // length of a window; end of the run, and of the last window
  std::vector<Watts> series;  // mean power of the plant of all pools in each window

  PoolEnergy total() const;
  // The length of the i-th window: less than the others in the last one.
  Seconds length(std::size_t i) const;
  // The p-quantile of the power of the plant over the windows, without the last one if it is
  // shorter and not the only one.
  Watts quantile(double p) const;
};

// REQUIRES windows of each pool in `result`, and that the data sheets state the powers of all GPUs.
// `by_kernel`: fills PoolEnergy::kinds.
FleetEnergy fleet_energy(const StepPowerConstants& constants, const std::vector<PoweredPool>& pools,
                         const SimulationResult& result, bool by_kernel = false);

}  // namespace orrery
