// Another model that is served on the same GPUs (orrery/serving/cluster/shared_gpu.h).
#pragma once

#include <memory>
#include <optional>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/fleet/gpu_work.h"
#include "orrery/scenario/kinds/service/service_answer.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/cluster/shared_gpu.h"

namespace orrery {

struct ColocatedModel {
  std::shared_ptr<const ServedModel> served;
  SimulationConfig config;
  RequestLoad load;
};

// The other model of a scenario with a ServiceQuestion whose own model is `own`; none where the
// GPUs are not shared. NoData, Infeasible: it does not go with the service, or does not fit.
std::optional<ColocatedModel> colocated_model(Facts& facts, const Scenario& scenario,
                                              const ServedModel& own);

// The shares of a GPU's arithmetic and memory bandwidth that a service used while it ran alone.
GpuDemand gpu_demand(const GpuWork& work, const SimulationResult& alone);

// The service that is asked about, as a tenant of the GPUs. Borrowed.
struct Tenancy {
  const ServedModel& served;
  const SimulationConfig& config;
  const RequestLoad& load;
  const MakeClock& clock;
};

// The factor by which steps of `own` take longer beside `other`. Adds it, and metrics of the other,
// to `point`.
double share_with(const Tenancy& own, const ColocatedModel& other,
                  const ColocatedModelChoice& choice, Point& point);

}  // namespace orrery
