#include "orrery/scenario/kinds/steady/steady_load.h"

#include <algorithm>

#include "orrery/memory/memory_model.h"

namespace orrery {

std::int64_t planned_length(const Scenario& scenario, const SteadyQuestion& load) {
  return std::max(scenario.workload.max_model_len, load.isl + load.osl);
}

std::int64_t capacity_of(const SteadyQuestion& load, const ServedModel& served,
                         std::int64_t length) {
  const bool paged = served.deployment.engine.memory.paged;
  return served.memory->max_concurrency(paged ? load.isl + load.osl / 2 : length);
}

ClosedFormResult closed_form_of(const SteadyQuestion& load, const ServedModel& served,
                                std::int64_t capacity, bool with_terms) {
  const ClosedFormWorkload steady{.requests = load.batch,
                                  .isl = load.isl,
                                  .osl = load.osl,
                                  .past = load.past,
                                  .closed_loop = load.closed_loop,
                                  .equal_lengths = load.equal_lengths,
                                  .requests_per_user = load.requests_per_user};
  return closed_form(*served.steps, served.deployment.engine, served.plan, steady, capacity,
                     with_terms);
}

}  // namespace orrery
