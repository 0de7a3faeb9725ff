#include "orrery/scenario/service/service_config.h"

#include "orrery/base/error.h"
#include "orrery/scenario/service/served_pool.h"

namespace orrery {
namespace {

// Times that would make a simulation of nothing but events.
void check_cluster_times(const ClusterChoice& c) {
  if (c.router_refresh > Seconds(0) && c.router_refresh < milliseconds(1))
    throw InputError("cluster.router_refresh: 1 ms or more, or 0 s");
  if (c.autoscale.policy != "none" && c.autoscale.interval < milliseconds(1))
    throw InputError("autoscale.interval: 1 ms or more");
  if (c.failures.mean_time > Seconds(0) && c.failures.mean_time < Seconds(1))
    throw InputError("failures.mean_time: 1 s or more, or 0 s");
}

}  // namespace

SimulationConfig service_config(const Scenario& s, const Deployment& d, const Architecture& model,
                                const ParallelPlan& plan, std::int64_t kv_blocks) {
  const ClusterChoice& cluster = s.service.cluster;
  check_cluster_times(cluster);
  SimulationConfig c;
  static_cast<PoolConfig&>(c) = pool_config(s, d, model, plan, cluster.replicas, kv_blocks);
  c.router = cluster.router;
  c.router_refresh = sim_time(cluster.router_refresh);
  c.seed = static_cast<std::uint64_t>(s.service.seed);
  c.max_concurrency = s.service.max_concurrency;
  c.frontend_per_request = sim_time(d.engine.execution.frontend_per_request);
  c.request_overhead = sim_time(d.engine.execution.request_overhead);
  c.overhead_per_prompt_token = sim_time(d.engine.execution.overhead_per_prompt_token);
  c.beams.width = static_cast<std::int32_t>(s.service.beam_width);
  c.beams.overhead = sim_time(d.engine.execution.beam_overhead);
  c.autoscale.policy = cluster.autoscale.policy;
  c.autoscale.target = cluster.autoscale.target;
  c.autoscale.least = cluster.autoscale.least;
  c.autoscale.most = cluster.autoscale.most;
  c.autoscale.interval = sim_time(cluster.autoscale.interval);
  c.autoscale.start_up = sim_time(cluster.autoscale.start_up);
  c.autoscale.cool_down = sim_time(cluster.autoscale.cool_down);
  c.failures.mean_time = cluster.failures.mean_time;
  c.failures.restart = sim_time(cluster.failures.restart);
  for (double at : cluster.failures.at) c.failures.at.push_back(sim_seconds(at));
  return c;
}

}  // namespace orrery
