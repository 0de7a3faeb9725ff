// Several engines on one GPU, each with its own memory, model and load.
//
// While steps of two engines run together both are slower:
//   time slicing   The GPU runs one process at a time, in turns much shorter than a step (the
//                  driver's default for processes without MPS): each takes twice as long.
//   MPS            Kernels of both run side by side. They share compute and memory in proportion
//                  and are slowed down by whatever is short:
//                    max(1, c1 + c2, m1 + m2)
//                  with the shares c of the GPU's arithmetic and m of its memory bandwidth that an
//                  engine uses while it runs alone. An assumption, as the interference that was
//                  measured lies on both sides of it (Orion, EuroSys'24; MuxServe, ICML'24); time
//                  slicing is its upper bound.
// How often steps meet: while an engine runs a step, the other does with the probability that it is
// busy, as if independent. Slower steps keep engines busy for longer, so the stretches are those
// that agree with the busy shares they cause (fixed point, from below). What is left out: that
// bursts of both may coincide, and the cost of switching contexts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "orrery/serving/cluster/simulation.h"

namespace orrery {

enum class Sharing { kTimeSlicing, kMps };

// What an engine uses of the GPU's peaks while it runs steps alone, 0 to 1.
struct GpuDemand {
  double compute = 0, memory = 0;
};

// How many times as long steps of two engines take while both run.
double interference(Sharing sharing, const GpuDemand& a, const GpuDemand& b);

struct Tenant {
  std::function<SimulationResult(double stretch)>
      run;  // with steps that take so many times as long
  GpuDemand demand;
};

struct SharedGpu {
  std::vector<double> stretch;            // of each tenant's steps
  std::vector<SimulationResult> results;  // with these
};

// REQUIRES a tenant.
SharedGpu share_gpu(Sharing sharing, std::span<const Tenant> tenants);

}  // namespace orrery
