// The power and the energy of a simulated service.
//
// An engine is busy while a step runs, and awake in between. Power while it is busy is that of
// step_power.h for the work of its steps. That work is that of its decode steps, each with the mean
// number of sequences at their mean context, and of its steps with prompts, each with the mean
// number of prompt tokens; it takes the time in which the engine was busy. Draft tokens and
// adapters are left out of the work.
//
//   energy = sum over pools of GPUs of an engine * (power * busy + awake * (present - busy))
//
// Engines that an autoscaler has removed draw nothing. The GPUs' boards alone are counted.
#pragma once

#include <vector>

#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/fleet/fleet_price.h"
#include "orrery/scenario/fleet/gpu_work.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

class ServicePower {
 public:
  ServicePower() = default;  // not known: adds no metrics
  explicit ServicePower(const StepPowerConstants& constants) : constants_(&constants) {}

  // Adds the next pool of the service, the first one first. Borrows `served`.
  void add_pool(const ServedModel& served);

  // Adds `power` (mean of a GPU's board, W), `energy` (of all GPUs in the run, kJ),
  // `energy_per_token` and `energy_per_request` (J) to `metrics`, and with a power limit or a clock
  // `clock` (MHz), the mean over the busy time of all GPUs.
  void add_metrics(const SimulationConfig& config, const SimulationResult& result,
                   std::vector<Metric>& metrics) const;
  // Whether a metric is one of these.
  static bool states(const Metric& metric);
  // Gives the interval of such a metric the error of the power, and its origin.
  void widen(Metric& metric) const;

 private:
  // `requests`: whose prompts the pool computed. At the clock of the pool's governor, as one kind.
  ClockedSteps work_of_pool(std::size_t pool, const ReplicaCounts& sum, const PoolConfig& config,
                            double requests) const;

  const StepPowerConstants* constants_ = nullptr;
  std::vector<const ServedModel*> pools_;
};

// The work, the power and the price of the GPUs of a simulated service.
struct UseOfGpus {
  GpuWork work;        // of the only pool
  ServicePower power;  // of all pools
  FleetPrice price;    // of all pools
};

}  // namespace orrery
