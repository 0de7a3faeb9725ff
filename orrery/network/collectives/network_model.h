// Time of a collective over a group of ranks of a deployment.
//
// The group decides which wires it crosses (RankPlacement). A group within one node runs on the
// node's scale-up fabric (or on the bridge of a pair); a wider one also crosses the network.
//
// The model. Within a node (cost.h): the fastest of the algorithms that the stack has on this
// fabric, each with a latency per step, a bandwidth, and a term between the two for the pipelining
// of chunks. Over several nodes (library_curve.h): the library's algorithms with the latencies and
// bandwidths of NCCL's tuner and three factors. Constants are fitted per fabric and stack
// (catalog/network/*.yaml, made by network_fit.h). A fabric that was never measured takes its data
// sheet's bandwidth with documented efficiencies and a wider interval.
//
// Always: no time is below the bytes that must leave a rank over the wires' bandwidth each way;
// no group over several nodes is faster than its part within one; time grows with bytes.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/network/collectives/nccl_tuner.h"
#include "orrery/workload/ops/op.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The distance between neighbours of each kind of group.
struct RankPlacement {
  int tensor = 1, pipeline = 1, data = 1, context = 1, replica = 1, expert_data = 1;
  int stages = 1;  // of the pipeline: a send between neighbours is as slow as the slowest one
  // Of expert groups of at most `tensor_ranks` ranks, and of wider ones.
  int expert = 1, wide_expert = 1, tensor_ranks = 1;
};
// tp fastest, then pp, then dp, as vLLM places ranks. Experts are shared by the tp*dp ranks of a
// stage; groups wider than tp stride over the stages.
RankPlacement placement(const ParallelPlan& plan);
// tp fastest, then cp, dp, pp, as Megatron places ranks; or pp before dp by the plan's order, where
// a data-parallel group with cp > 1 counts as evenly spread.
RankPlacement placement(const TrainingPlan& plan);

enum class CollectiveBound { kLatency, kBandwidth };
std::string_view to_text(CollectiveBound bound);

struct CollectiveTime {
  Estimate<Seconds> time;
  std::string_view algorithm;  // "one-shot", "ring", "nvls-tree", "direct", ...; static text
  CollectiveBound bound = CollectiveBound::kLatency;  // which part is the larger one
  // nccl-tests' convention: bytes/time times 2(n-1)/n for all-reduce, (n-1)/n for all-gather,
  // reduce-scatter and all-to-all, 1 otherwise. 0 for one rank.
  BytesPerSecond bus_bandwidth;
  // Of `time`, what the bytes need of a rank's share of its node's ports at their nominal rate,
  // each way (port_time of nccl_graph.h): what others on the same port at the same time get less. 0
  // within a node. All ranks of a node use its ports alike, so that a rank's share is the node's
  // ports over its GPUs: a port of its own where there are as many.
  Seconds on_port{};
};

// What runs, and why. algorithm and protocol are NCCL's own choice by its tuner where NCCL chooses;
// protocol is empty elsewhere.
struct CollectiveChoice {
  std::string_view algorithm, protocol;
  std::string reason;  // in a sentence
};

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  // One call on an idle network, replayed from a graph: no launch gap in it. One rank or no bytes
  // take no time. REQUIRES ranks >= 1, bytes >= 0. Thread-safe; no allocation.
  virtual CollectiveTime predict(const Collective& collective) const = 0;
  // The same for ranks that are placed otherwise: one model serves every layout of a sweep.
  // InputError: the group does not lie within the cluster.
  virtual CollectiveTime predict(const Collective& collective,
                                 const RankPlacement& placement) const = 0;
  // The same with NCCL_ALGO and NCCL_PROTO set. InputError: NCCL does not offer that here.
  virtual CollectiveTime predict(const Collective& collective, const NcclForced& forced) const = 0;
  // One dispatch or combine of experts over a group of `ranks`. bus_bandwidth is DeepEP's own
  // figure: ExpertBytes::counted / time. REQUIRES ranks >= 2.
  virtual CollectiveTime exchange(const ExpertExchange& exchange, Collective::Group group,
                                  int ranks) const = 0;
  // The same for ranks that are placed otherwise.
  virtual CollectiveTime exchange(const ExpertExchange& exchange, Collective::Group group,
                                  int ranks, const RankPlacement& placement) const = 0;
  virtual CollectiveChoice choice(const Collective& collective,
                                  const NcclForced& forced = {}) const = 0;
  // Time below which no algorithm can be (bisection_bound of nccl_graph.h), without CollNet if it
  // is not forced.
  virtual Seconds bound(const Collective& collective, const NcclForced& forced = {}) const = 0;
  // What the prediction of a group rests on, for notes: "vllm on nvlink4-nvswitch, measured on
  // h100-sxm".
  virtual std::string provenance(const Collective& collective) const = 0;
};

}  // namespace orrery
