// Another model on the same GPUs, served beside the one that is asked about
// (orrery/serving/cluster/shared_gpu.h).
#pragma once

#include <memory>
#include <string>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/service/gpu_work.h"
#include "orrery/scenario/service/service_answer.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/serving/cluster/shared_gpu.h"
#include "orrery/step/step_model.h"

namespace orrery {

// A service on the GPUs, with all that its step times borrow.
struct Neighbour {
  Scenario scenario;
  Architecture model;
  Deployment deployment;
  ParallelPlan plan;
  std::unique_ptr<MemoryModel> memory;
  std::unique_ptr<StepModel> steps;
  SimulationConfig config;
  RequestLoad load;
};

// nullptr: the GPUs are not shared.
std::shared_ptr<const Neighbour> make_neighbour(Facts& facts, const Scenario& scenario,
                                                const Deployment& of, const ParallelPlan& plan,
                                                const RunOptions& options);

// What a service used of its GPU while it ran.
GpuDemand gpu_demand(const GpuWork& work, const SimulationResult& alone);

// The service that is asked about, as a tenant.
struct Sharer {
  const Architecture& model;
  const ParallelPlan& plan;
  const Deployment& deployment;
  const MemoryModel& memory;
  const SimulationConfig& config;
  const RequestLoad& load;
  const MakeClock& clock;
};

// How many times as long steps of `own` take beside `other`; metrics of that and of the other.
double share_with(const Sharer& own, const Neighbour& other, const NeighbourChoice& choice,
                  Point& point);

}  // namespace orrery
