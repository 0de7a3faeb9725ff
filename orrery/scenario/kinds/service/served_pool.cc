#include "orrery/scenario/kinds/service/served_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/service_question.h"
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

// Sender and receiver are modelled as two pipeline stages. The stride between them selects the
// links.
Wire wire(const Catalog& catalog, const Bundle& bundle, const Deployment& d,
          const std::string& node, int gpus, int stride) {
  ParallelPlan pair;
  pair.tp = stride;
  pair.pp = 2;
  return {make_network_model(Cluster(catalog, d.gpu, gpus, node), pair,
                             d.engine.kernels.collectives, bundle)};
}

}  // namespace

KvTransfer kv_transfer(const Facts& facts, const std::string& node, const TransferSide& from,
                       const TransferSide& to, bool layerwise, std::vector<std::string>& notes) {
  const Catalog& catalog = facts.catalog();
  const Bundle& bundle = facts.bundle();
  const auto gpus = [](const TransferSide& side) {
    return static_cast<int>(
        std::min<std::int64_t>(side.replicas * side.served.plan.devices(), 1 << 20));
  };
  const Gpu &a = from.served.deployment.gpu, &b = to.served.deployment.gpu;
  // Another type of GPU is in its usual node.
  const auto name_of = [&](const Gpu& gpu) { return gpu.id == a.id ? node : std::string(); };
  const auto of_node = [&](const Gpu& gpu) {
    return node_of(catalog, gpu, name_of(gpu)).gpu_count;
  };
  const int together = gpus(from) + gpus(to);
  const bool same_node = a.id == b.id && together <= of_node(a);
  std::vector<Wire> wires;
  if (same_node) {
    wires = {wire(catalog, bundle, from.served.deployment, node, together,
                  std::min(gpus(from), gpus(to)))};
  } else {
    for (const TransferSide* side : {&from, &to}) {
      const int n = of_node(side->served.deployment.gpu);
      wires.push_back(wire(catalog, bundle, side->served.deployment,
                           name_of(side->served.deployment.gpu), 2 * n, n));
    }
  }
  notes.push_back(fmt::format("KV transfers inside {}: {}; first come, first served at each engine",
                              same_node ? "a node" : "the network between nodes",
                              wires.front().network->provenance(Wire::message(Bytes(1)))));
  KvTransfer t;
  t.layerwise = layerwise;
  t.layers = from.served.model.layers.size();
  const auto share_of = [](const TransferSide& side) {
    return [memory = *side.served.memory, techniques = side.techniques](std::int64_t tokens) {
      return memory.kv_per_sequence(tokens) +
             (techniques ? techniques->drafter_kv(tokens) : Bytes(0));
    };
  };
  t.time = [wires, sender = share_of(from), receiver = share_of(to)](std::int64_t tokens) {
    const Bytes share = std::max(sender(tokens), receiver(tokens));
    Seconds slowest;
    for (const Wire& w : wires) slowest = std::max(slowest, w.time(share));
    return sim_time(slowest);
  };
  return t;
}

ServedPool served_pool(Facts& facts, const Scenario& s, const ServiceQuestion& service,
                       const ServedModel& first, const PoolChoice& choice) {
  Deployment d = first.deployment;
  if (!choice.gpu.empty()) {
    const Gpu& gpu = facts.gpu(choice.gpu);
    d = make_deployment(s, first.model, gpu, facts.engine(s.engine.profile, gpu),
                        engine_use(service));
  }
  if (choice.seqs) d.engine.scheduler.max_num_seqs = *choice.seqs;
  if (choice.tokens) d.engine.scheduler.max_num_batched_tokens = *choice.tokens;
  // Another type of GPU has its own usual node.
  const std::string node = d.gpu.id == first.deployment.gpu.id ? s.hardware.node : std::string();
  ServedPool pool;
  pool.served = make_served_model(facts, first.model, std::move(d), choice.layout(first.plan),
                                  {node, s.workload.expert_skew, s.hardware.knobs()});
  pool.techniques = std::make_shared<const ServiceTechniques>(service, *pool.served,
                                                              make_drafter(facts, s, *pool.served));
  pool.plain = pool_config(*pool.served, s.workload.max_model_len, choice.replicas(),
                           pool.served->memory->kv_blocks());
  if (pool.techniques->kv_blocks() < 1)
    throw Infeasible(fmt::format("a pool of {}: {}", pool.served->deployment.gpu.id,
                                 pool.served->memory->load(1, 1).summary()));
  pool.config = pool.plain;
  pool.techniques->apply(pool.config.replica, static_cast<std::uint64_t>(service.seed));
  return pool;
}

}  // namespace orrery
