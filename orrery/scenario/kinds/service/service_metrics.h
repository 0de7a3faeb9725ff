// The names of the figures of a simulated service, in the order in which they are shown.
#pragma once

#include <optional>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/fleet/service_power.h"
#include "orrery/serving/figures/service_figures.h"

namespace orrery {

// The metrics of one simulation. `use`: if the work is known, MFU and the use of the memory
// bandwidth are among them; if the power is known, power and energy are; if the price is known,
// costs are. `keep` receives the energy, if it is known, with `by_kernel` by kinds of kernels, too.
std::vector<Metric> service_metrics(const ServiceFigures& figures, const SimulationResult& result,
                                    const UseOfGpus& use = {},
                                    std::optional<FleetEnergy>* keep = nullptr,
                                    bool by_kernel = false);

void add_speedup(const Speedup& speedup, std::vector<Metric>& metrics);

}  // namespace orrery
