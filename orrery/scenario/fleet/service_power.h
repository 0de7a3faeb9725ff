// The power, the energy and the emissions of a simulated service (fleet_energy.h).
//
// The account's scope says what counts: the GPUs' boards, their nodes at the wall or the data
// centre. `power` is always that of one board.
#pragma once

#include <string>
#include <vector>

#include "orrery/energy/power/step_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/fleet/fleet_energy.h"
#include "orrery/scenario/fleet/fleet_price.h"
#include "orrery/scenario/fleet/gpu_work.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

// The windows over which power is averaged: a second, which was chosen. Boards are read and
// regulated over tenths of it, and breakers of a rack trip on longer overloads.
inline constexpr SimTime kPowerWindow{1'000'000'000'000};

class ServicePower {
 public:
  ServicePower() = default;  // not known: adds no metrics
  explicit ServicePower(const StepPowerConstants& constants) : constants_(&constants) {}

  // Adds the next pool of the service, the first one first. Borrows what `pool` has.
  void add_pool(PoweredPool pool);
  // Whether a simulation must have windows of kPowerWindow.
  bool known() const { return constants_ != nullptr && !pools_.empty(); }

  // REQUIRES known(), and windows in `result`. `by_kernel`: by kinds of kernels, too.
  FleetEnergy energy(const SimulationResult& result, bool by_kernel = false) const;
  // Adds `power` (mean of a GPU's board, W), with a power limit or a clock `clock` (MHz, the mean
  // over the busy time of all GPUs), `plant_power` (of the fleet, W) with its `_p99` and `_max`
  // over windows, `energy` (of the run, kJ), `energy_per_token` and `energy_per_request` (J) to
  // `metrics`, and where emissions are asked for `carbon` and its kin.
  void add_metrics(const SimulationResult& result, const FleetEnergy& energy,
                   std::vector<Metric>& metrics) const;
  // Gives the intervals of these metrics the error of the power, and its origin. Those of powers
  // end where all boards draw their limits, and what the scope counts besides them its most.
  void widen(const FleetEnergy& energy, std::vector<Metric>& metrics) const;
  // Adds what is to be known about the windows and about the best hours of a series.
  void note(const FleetEnergy& energy, std::vector<std::string>& notes) const;

 private:
  void add_carbon(const FleetEnergy& energy, double tokens, double requests,
                  std::vector<Metric>& metrics) const;
  struct Errors {
    double board = 0, plant = 0;  // of their powers: deviations of the logarithm
    Watts most;                   // the largest limit of a board
    Origin board_origin = Origin::kExact, plant_origin = Origin::kExact;
  };
  // The largest over the pools. `board`: mean power of a board.
  Errors errors_at(Watts board) const;
  // The most that the plant can draw with the boards that were present.
  Estimate<Watts> most_power(const FleetEnergy& energy) const;

  const StepPowerConstants* constants_ = nullptr;
  std::vector<PoweredPool> pools_;
};

// The work, the power and the price of the GPUs of a simulated service.
struct UseOfGpus {
  GpuWork work;        // of the only pool
  ServicePower power;  // of all pools
  FleetPrice price;    // of all pools
};

}  // namespace orrery
