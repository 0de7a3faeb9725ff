// The flow level: whole simulations from the topology's plan to the times, as a user asks.
#include <benchmark/benchmark.h>

#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_build.h"

namespace {

using namespace orrery;

// Nodes of eight H100 on rails: one switch a rail, or a fat tree of leaves with 32 nodes.
ClusterPlan hgx_h100(int nodes, bool fat_tree = false) {
  NodePlan n;
  n.count = nodes;
  n.bandwidth = BytesPerSecond(450e9);
  n.latency = microseconds(1);
  n.ports = 8;
  n.port_bandwidth = BytesPerSecond(50e9);
  n.port_latency = microseconds(2.7);
  ClusterPlan plan;
  plan.nodes = {n};
  plan.network.rails = true;
  if (!fat_tree) plan.network.kind = NetworkPlan::Kind::kSwitch;
  return plan;
}

void report(benchmark::State& state, const FlowResult& r) {
  state.counters["streams"] = static_cast<double>(r.streams);
  state.counters["classes"] = static_cast<double>(r.classes);
  state.counters["events"] = static_cast<double>(r.events);
}

// One collective of all GPUs.
FlowResult collective_of(int gpus, const FlowCollective& c, const Topology& t) {
  FlowProgram p;
  FlowCollectives collectives(p);
  collectives.add(c, collectives.groups(strided_groups(gpus, 1, gpus)));
  return simulate_flows(t, p);
}

// One ring all-reduce of 1 GiB over a ring of GPUs, as ASTRA-sim's Ring.
void BM_RingOnRing(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  FlowResult r;
  for (auto _ : state) {
    const Topology t =
        dimensions_topology({{Wiring::kRing, gpus, BytesPerSecond(400e9), microseconds(0.936)}});
    FlowCollective c;
    c.bytes = gibibytes(1);
    r = collective_of(gpus, c, t);
  }
  report(state, r);
}
BENCHMARK(BM_RingOnRing)->Arg(1024)->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond);

// The same on nodes of eight: GPUs, channels, fat tree.
void BM_RingOnNodes(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  FlowResult r;
  for (auto _ : state) {
    const Topology t = cluster_topology(hgx_h100(gpus / 8, state.range(2) != 0));
    FlowCollective c;
    c.bytes = gibibytes(1);
    c.inner = 8;
    c.channels = static_cast<int>(state.range(1));
    r = collective_of(gpus, c, t);
  }
  report(state, r);
}
BENCHMARK(BM_RingOnNodes)
    ->Args({1024, 8, 0})
    ->Args({4096, 1, 0})
    ->Args({4096, 8, 0})
    ->Args({16384, 8, 0})
    ->Args({4096, 1, 1})
    ->Args({4096, 8, 1})
    ->Unit(benchmark::kMillisecond);

void BM_DirectAllToAll(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  FlowResult r;
  for (auto _ : state) {
    const Topology t = cluster_topology(hgx_h100(gpus / 8));
    FlowCollective c;
    c.kind = Collective::Kind::kAllToAll;
    c.algorithm = CollectiveAlgorithm::kDirect;
    c.bytes = gibibytes(1);
    r = collective_of(gpus, c, t);
  }
  report(state, r);
}
BENCHMARK(BM_DirectAllToAll)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

// An iteration of a transformer of 32 layers, tp 8 and dp gpus / 8: forward and backward with two
// all-reduces a layer each, gradients reduced layer by layer during the backward pass.
void BM_TransformerIteration(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  FlowResult r;
  for (auto _ : state) {
    const Topology t = cluster_topology(hgx_h100(gpus / 8));
    FlowProgram p;
    FlowCollectives collectives(p);
    const int tp = collectives.groups(strided_groups(8, 1, gpus));
    const int dp = collectives.groups(strided_groups(gpus / 8, 8, gpus));
    FlowCollective activations, gradients;
    activations.bytes = Bytes(32e6);
    gradients.bytes = Bytes(54e6);
    std::vector<int> last, reduced;
    const auto compute = [&](double ms) {
      FlowOp op;
      op.name = "compute";
      op.time = milliseconds(ms);
      op.after = last;
      p.ops.push_back(op);
      last = {static_cast<int>(p.ops.size()) - 1};
    };
    for (int pass = 0; pass < 2; ++pass) {
      for (int layer = 0; layer < 32; ++layer) {
        for (int half = 0; half < 2; ++half) {
          compute(pass == 0 ? 0.5 : 1.0);
          last = collectives.add(activations, tp, last);
        }
        if (pass == 1) {
          std::vector<int> after = last;
          after.insert(after.end(), reduced.begin(), reduced.end());
          reduced = collectives.add(gradients, dp, after);
        }
      }
    }
    r = simulate_flows(t, p);
  }
  report(state, r);
}
BENCHMARK(BM_TransformerIteration)->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
