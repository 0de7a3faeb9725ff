// Several engines on one GPU, each with its own memory, model and load.
//
// While steps of two engines overlap, both are slower:
//   time slicing   The GPU runs one process at a time, in turns much shorter than a step (the
//                  driver's default for processes without MPS): each step takes twice as long.
//   MPS            Kernels of both run concurrently. They share arithmetic and memory bandwidth,
//                  and the scarcer of the two slows both down:
//                    max(1, c1 + c2, m1 + m2)
//                  where c and m are the shares of the GPU's arithmetic and memory bandwidth that
//                  an engine uses while it runs alone. This is an assumption: measured interference
//                  lies on both sides of it (Orion, EuroSys'24; MuxServe, ICML'24). Time slicing is
//                  its upper bound.
//
// A step of one engine overlaps with steps of the other with the probability that the other is
// busy, as if both were independent. Slower steps keep engines busy for longer, so the stretches
// are the fixed point at which they agree with the busy shares that they cause, approached from
// below. Coinciding bursts and the cost of context switches are not modelled.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "orrery/serving/cluster/simulation.h"

namespace orrery {

enum class Sharing { kTimeSlicing, kMps };

// Shares of the GPU's peaks that an engine uses while it runs steps alone, 0 to 1.
struct GpuDemand {
  double compute = 0, memory = 0;
};

// Factor on the steps of two engines while both run, >= 1.
double interference(Sharing sharing, const GpuDemand& a, const GpuDemand& b);

// One of the engines.
struct Tenant {
  // Simulates the tenant with all steps `stretch` times as long.
  std::function<SimulationResult(double stretch)> run;
  GpuDemand demand;
};

struct SharedGpu {
  std::vector<double> stretch;            // factor on the steps of each tenant
  std::vector<SimulationResult> results;  // of each tenant with its factor
};

// Finds the stretches of all tenants. REQUIRES at least one tenant.
SharedGpu share_gpu(Sharing sharing, std::span<const Tenant> tenants);

}  // namespace orrery
