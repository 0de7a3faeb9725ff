// The price of a simulated fleet, and the cost of its time, its tokens and its requests.
#pragma once

#include <vector>

#include "orrery/energy/account/money.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/fleet/fleet_energy.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// The price of the engines of each pool. Not asked for: no pools.
struct FleetPrice {
  std::vector<Usd> engine_hour;  // an engine of each pool, all of its GPUs, for an hour
  double error = 0;              // of the price of all engines: deviation of the logarithm
  // The electricity of the facility, for which owned GPUs of a pool pay: the pool's account, and
  // the price of the electricity alone. The error of its power is small beside that of the price
  // and is left out.
  struct Electricity {
    PlantAccount account;
    GpuPrice price;
  };
  std::vector<std::optional<Electricity>> electricity;

  bool asked() const { return !engine_hour.empty(); }
};

// `hours`: an engine of each pool for an hour, with its error; `engines`: their numbers. The errors
// of the prices are one market's: they add up.
FleetPrice fleet_price(const std::vector<Estimate<Usd>>& hours,
                       const std::vector<std::int64_t>& engines);

// Tokens and requests of a stretch of time.
struct Served {
  Seconds time;
  double input = 0, output = 0, requests = 0;
};

// Adds what the fleet costs: until the end of the simulation, every engine that is not off, busy or
// idle; for an hour on average; and for the tokens and requests of the counted part of the time at
// this average. `energy`: null if no pool pays for electricity.
void add_cost_metrics(const FleetPrice& price, const SimulationResult& result,
                      const FleetEnergy* energy, const Served& served,
                      std::vector<Metric>& metrics);

}  // namespace orrery
