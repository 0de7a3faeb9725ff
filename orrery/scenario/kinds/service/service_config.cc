#include "orrery/scenario/kinds/service/service_config.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/service/techniques.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"

namespace orrery {
namespace {

// Refuses times that are so short that the simulation would consist of their events only.
void check_cluster_times(const ClusterChoice& c) {
  if (c.router_refresh > Seconds(0) && c.router_refresh < milliseconds(1))
    throw InputError("cluster.router_refresh: expected 1 ms or more, or 0 s");
  if (c.autoscale.policy != "none" && c.autoscale.interval < milliseconds(1))
    throw InputError("autoscale.interval: expected 1 ms or more");
  if (c.failures.mean_time > Seconds(0) && c.failures.mean_time < Seconds(1))
    throw InputError("failures.mean_time: expected 1 s or more, or 0 s");
}

}  // namespace

PoolConfig pool_config(const ServedModel& served, std::int64_t max_model_len, std::int64_t replicas,
                       std::int64_t kv_blocks) {
  const Deployment& d = served.deployment;
  const ParallelPlan& plan = served.plan;
  PoolConfig c;
  const auto& scheduler = d.engine.scheduler;
  c.scheduler = scheduler.policy;
  c.replicas = replicas;
  c.gpus = plan.devices();
  c.replica.ranks = plan.dp;
  c.replica.stages = plan.pp;
  c.replica.async = scheduler.async_scheduling && plan.pp == 1;
  c.replica.prefix_caching = scheduler.prefix_caching;
  c.replica.kv_blocks = kv_blocks;
  c.replica.kv.groups = kv_groups(served.model, d.engine.memory, plan.tp);
  if (d.engine.memory.paged) c.replica.kv.state_blocks = served.memory->state_blocks();
  c.replica.kv.whole_prompts = scheduler_kind(scheduler.policy).traits.takes_whole_prompts;
  c.replica.waiting_weight = scheduler_kind(scheduler.policy).traits.waiting_weight;
  c.replica.balance_timeout = scheduler.balance_timeout;
  c.replica.start_up = sim_time(d.engine.execution.first_step_extra());
  if (d.engine.execution.cold)
    c.replica.continued_start_up = sim_time(d.engine.execution.continued_start_up);
  c.replica.frontend_per_token = sim_time(d.engine.execution.delivery());
  c.replica.frontend_per_past_token =
      sim_time(d.engine.execution.delivery(1)) - c.replica.frontend_per_token;
  auto& l = c.replica.limits;
  l.max_num_batched_tokens = scheduler.max_num_batched_tokens;
  l.max_num_seqs = scheduler.max_num_seqs;
  l.chunked_prefill = scheduler.chunked_prefill;
  l.long_prefill_token_threshold = scheduler.long_prefill_token_threshold;
  l.mixed_chunk = scheduler.mixed_chunk;
  l.max_prefill_tokens = scheduler.max_prefill_tokens;
  l.recv_interval = scheduler.recv_interval;
  // The ranks of attention data parallelism balance their prompts instead.
  l.batch_wait_steps = plan.dp == 1 ? scheduler.batch_wait_steps : 0;
  l.batch_wait_tokens = std::llround(std::ceil(
      scheduler.batch_wait_ratio * static_cast<double>(scheduler.max_num_batched_tokens)));
  l.order = queue_order(scheduler.order);
  l.block_size = static_cast<std::int32_t>(d.engine.memory.block_size);
  l.max_model_len = max_model_len > 0 ? max_model_len : served.model.max_context;
  return c;
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
  const Deployment& d = served.deployment;
  check_cluster_times(cluster);
  SimulationConfig c;
  static_cast<PoolConfig&>(c) =
      pool_config(served, s.workload.max_model_len, cluster.replicas, kv_blocks);
  c.router = cluster.router;
  c.router_refresh = sim_time(cluster.router_refresh);
  c.seed = static_cast<std::uint64_t>(service.seed);
  c.max_concurrency = service.max_concurrency;
  c.frontend_per_request = sim_time(d.engine.execution.frontend_per_request);
  c.request_overhead = sim_time(d.engine.execution.request_overhead);
  c.overhead_per_prompt_token = sim_time(d.engine.execution.overhead_per_prompt_token);
  c.beams.width = static_cast<std::int32_t>(service.beam_width);
  c.beams.overhead = sim_time(d.engine.execution.beam_overhead);
  c.autoscale.policy = cluster.autoscale.policy;
  c.autoscale.target = cluster.autoscale.target;
  c.autoscale.least = cluster.autoscale.least;
  c.autoscale.most = cluster.autoscale.most;
  c.autoscale.interval = sim_time(cluster.autoscale.interval);
  c.autoscale.start_up = sim_time(cluster.autoscale.start_up);
  c.autoscale.cool_down = sim_time(cluster.autoscale.cool_down);
  c.decode_autoscale = c.autoscale;
  c.decode_autoscale.target = cluster.autoscale.decode_target.value_or(c.autoscale.target);
  c.decode_autoscale.least = cluster.autoscale.decode_least;
  c.decode_autoscale.most = cluster.autoscale.decode_most;
  c.failures.mean_time = cluster.failures.mean_time;
  c.failures.restart = sim_time(cluster.failures.restart);
  for (double at : cluster.failures.at) c.failures.at.push_back(sim_seconds(at));
  return c;
}

}  // namespace orrery
