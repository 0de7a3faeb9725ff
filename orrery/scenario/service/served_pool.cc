#include "orrery/scenario/service/served_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"

namespace orrery {
namespace {

// Sends from a GPU of one pool to one of the other.
struct Wire {
  std::shared_ptr<const NetworkModel> network;
  Seconds time(Bytes bytes) const { return network->predict(message(bytes)).time.value; }
  static Collective message(Bytes bytes) {
    return {Collective::Kind::kSend, Collective::Group::kPipeline, 2, bytes};
  }
};

// Two stages stand for sender and receiver; the stride between them decides which wires they use.
Wire wire(const Catalog& catalog, const Bundle& bundle, const Deployment& d,
          const std::string& node, int gpus, int stride) {
  ParallelPlan pair;
  pair.tp = stride;
  pair.pp = 2;
  return {make_network_model(Cluster(catalog, d.gpu, gpus, node), pair,
                             d.engine.kernels.collectives, bundle)};
}

}  // namespace

PoolConfig pool_config(const Scenario& s, const Deployment& d, const Architecture& model,
                       const ParallelPlan& plan, std::int64_t replicas, std::int64_t kv_blocks) {
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
  c.replica.kv.groups = kv_groups(model, d.engine.memory);
  c.replica.kv.whole_prompts = scheduler_kind(scheduler.policy).traits.takes_whole_prompts;
  c.replica.balance_timeout = scheduler.balance_timeout;
  if (d.engine.execution.cold) c.replica.start_up = sim_time(d.engine.execution.start_up);
  auto& l = c.replica.limits;
  l.max_num_batched_tokens = scheduler.max_num_batched_tokens;
  l.max_num_seqs = scheduler.max_num_seqs;
  l.chunked_prefill = scheduler.chunked_prefill;
  l.long_prefill_token_threshold = scheduler.long_prefill_token_threshold;
  l.mixed_chunk = scheduler.mixed_chunk;
  l.recv_interval = scheduler.recv_interval;
  l.order = queue_order(scheduler.order);
  l.block_size = static_cast<std::int32_t>(d.engine.memory.block_size);
  l.max_model_len = s.workload.max_model_len > 0 ? s.workload.max_model_len : model.max_context;
  return c;
}

KvTransfer kv_transfer(const Catalog& catalog, const Bundle& bundle, const std::string& node,
                       const Architecture& model, const TransferSide& from, const TransferSide& to,
                       bool layerwise, std::vector<std::string>& notes) {
  const auto gpus = [](const TransferSide& side) {
    return static_cast<int>(std::min<std::int64_t>(side.replicas * side.plan.devices(), 1 << 20));
  };
  const Gpu &a = from.deployment.gpu, &b = to.deployment.gpu;
  // Another type of GPU stands in its own usual node.
  const auto name_of = [&](const Gpu& gpu) { return gpu.id == a.id ? node : std::string(); };
  const auto of_node = [&](const Gpu& gpu) {
    return node_of(catalog, gpu, name_of(gpu)).gpu_count;
  };
  const int together = gpus(from) + gpus(to);
  const bool same_node = a.id == b.id && together <= of_node(a);
  std::vector<Wire> wires;
  if (same_node) {
    wires = {
        wire(catalog, bundle, from.deployment, node, together, std::min(gpus(from), gpus(to)))};
  } else {
    for (const TransferSide* side : {&from, &to}) {
      const int n = of_node(side->deployment.gpu);
      wires.push_back(
          wire(catalog, bundle, side->deployment, name_of(side->deployment.gpu), 2 * n, n));
    }
  }
  notes.push_back(fmt::format("KV transfers inside {}: {}; first come, first served at each engine",
                              same_node ? "a node" : "the network between nodes",
                              wires.front().network->provenance(Wire::message(Bytes(1)))));
  KvTransfer t;
  t.layerwise = layerwise;
  t.layers = model.layers.size();
  t.time = [wires, sender = from.memory, receiver = to.memory](std::int64_t tokens) {
    const Bytes share = std::max(sender.kv_per_sequence(tokens), receiver.kv_per_sequence(tokens));
    Seconds slowest;
    for (const Wire& w : wires) slowest = std::max(slowest, w.time(share));
    return sim_time(slowest);
  };
  return t;
}

std::shared_ptr<const ServedPool> served_pool(Facts& facts, const Scenario& s,
                                              const Architecture& model, const Deployment& first,
                                              const ParallelPlan& plan, const PoolChoice& choice,
                                              const RunOptions& options) {
  auto pool = std::make_shared<ServedPool>();
  pool->deployment = first;
  if (!choice.gpu.empty()) {
    Scenario own = s;
    own.hardware.gpu = choice.gpu;
    pool->deployment = make_deployment(own, model, facts.gpu(choice.gpu),
                                       facts.engine(s.engine.profile, facts.gpu(choice.gpu)));
  }
  Deployment& d = pool->deployment;
  if (choice.seqs) d.engine.scheduler.max_num_seqs = *choice.seqs;
  if (choice.tokens) d.engine.scheduler.max_num_batched_tokens = *choice.tokens;
  pool->plan = {choice.tp.value_or(plan.tp), choice.pp.value_or(plan.pp),
                choice.dp.value_or(plan.dp), choice.ep.value_or(plan.ep)};
  check_plan(model, pool->plan, d.precision);
  pool->memory = std::make_unique<MemoryModel>(model, pool->plan, d.precision, d.engine, d.gpu);
  // Another type of GPU stands in its own usual node.
  const std::string node = d.gpu.id == first.gpu.id ? s.hardware.node : std::string();
  pool->steps = std::make_unique<StepModel>(
      model, pool->plan, d.precision, d.engine, facts.kernels(d.gpu, d.classes, options.tier),
      facts.network(d.gpu, node, pool->plan, d.engine.kernels.collectives), s.workload.expert_skew);
  pool->config = pool_config(s, d, model, pool->plan, choice.replicas, pool->memory->kv_blocks());
  if (pool->config.replica.kv_blocks < 1)
    throw Infeasible(fmt::format("a pool of {}: {}", d.gpu.id, pool->memory->load(1, 1).summary()));
  return pool;
}

}  // namespace orrery
