#include "orrery/scenario/kinds/service/service_config.h"

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

// Refuses times that are so short that the simulation would consist of their events only.
void check_cluster_times(const ClusterChoice& c) {
  if (c.router_refresh > Seconds(0) && c.router_refresh < milliseconds(1))
    throw InputError("cluster.router_refresh: expected 1 ms or more, or 0 s");
  if (c.autoscale.on() && c.autoscale.interval < milliseconds(1))
    throw InputError("autoscale.interval: expected 1 ms or more");
  if (c.failures.mean_time > Seconds(0) && c.failures.mean_time < Seconds(1))
    throw InputError("failures.mean_time: expected 1 s or more, or 0 s");
}

}  // namespace

PoolConfig pool_config(const ServedModel& served, std::int64_t max_model_len, std::int64_t replicas,
                       std::int64_t kv_blocks) {
  return make_pool(served.deployment.engine, served.plan, *served.memory,
                   max_model_len > 0 ? max_model_len : served.model.max_context, kv_blocks,
                   replicas);
}

// Contiguous memory and drafters with a KV cache of their own are simulated without freed blocks.
EngineUse engine_use(const ServiceQuestion& service) {
  EngineUse use;
  const SpeculationChoice& drafts = service.speculation;
  if (drafts.on()) use.tokens_per_sequence = 1 + std::max(drafts.tokens, drafts.tree_tokens);
  use.frees_outside_windows = !drafts.has_layers() && !service.kv.contiguous() &&
                              !service.kv.tiers() && !service.cluster.disaggregation.on();
  return use;
}

SimulationConfig service_config(const Scenario& s, const ServedModel& served,
                                std::int64_t kv_blocks) {
  const ServiceQuestion& service = s.as<ServiceQuestion>();
  const ClusterChoice& cluster = service.cluster;
  check_cluster_times(cluster);
  SimulationConfig c;
  static_cast<PoolConfig&>(c) =
      pool_config(served, s.workload.max_model_len, cluster.replicas, kv_blocks);
  c.router = cluster.router;
  c.router_refresh = cluster.router_refresh;
  c.autoscale = cluster.autoscale;
  c.failures = cluster.failures;
  c.seed = static_cast<std::uint64_t>(service.seed);
  c.max_concurrency = service.max_concurrency;
  c.beams.width = static_cast<std::int32_t>(service.beam_width);
  return c;
}

}  // namespace orrery
