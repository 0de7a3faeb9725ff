// The time of a collective over a group of ranks of a deployment.
//
// The interface knows no library: algorithms and protocols are those of the common vocabulary
// (collective_algorithm.h). make_network.h makes the model of a cluster.
//
// The place of a group's ranks in the machine decides which wires it uses (RankPlacement). A group
// within one node uses the node's scale-up fabric, or the bridge of a pair of GPUs; a wider group
// uses the network as well. Within a node the time is that of the fastest algorithm that the
// software has on the fabric (cost.h). On several nodes it follows the library's tuner
// (library_curve.h). The constants of both are fitted for each fabric and software stack
// (catalog/network). A fabric that was never measured has the bandwidth of its data sheet at
// documented efficiencies, and a wider interval.
//
// Every model obeys these laws: no time is below the bytes that must leave a rank, over the
// bandwidth of the wires each way; no group on several nodes is faster than its part within one
// node; time grows with bytes.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/workload/ops/collective_algorithm.h"
#include "orrery/workload/ops/op.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// Distance in ranks between neighbours of a group, for each kind of group (Collective::Group).
struct RankPlacement {
  int tensor = 1, pipeline = 1, data = 1, context = 1, replica = 1, expert_data = 1;
  int stages = 1;       // of the pipeline: a send between neighbours is as slow as the slowest one
  int expert = 1;       // of expert groups of at most `tensor_ranks` ranks
  int wide_expert = 1;  // of larger expert groups
  int tensor_ranks = 1;
};
// vLLM's order of ranks: tp runs fastest, then pp, then dp. The tp * dp ranks of a stage share the
// experts; expert groups larger than tp stride over the stages.
RankPlacement placement(const ParallelPlan& plan);
// Megatron's order of ranks: tp runs fastest, then cp, dp and pp, or pp before dp if the plan says
// so. In the latter order a data-parallel group with cp > 1 counts as evenly spread.
RankPlacement placement(const TrainingPlan& plan);
// Distance in ranks between neighbours of the group of a collective.
int stride_of(const Collective& c, const RankPlacement& placement);

// The larger part of a collective's time.
enum class CollectiveBound { kLatency, kBandwidth };
std::string_view to_text(CollectiveBound bound);

struct CollectiveTime {
  Estimate<Seconds> time;
  std::string_view algorithm;  // name: "ring", "nvls-tree", "low-latency", "none", ...; static text
  CollectiveBound bound = CollectiveBound::kLatency;
  // bytes / time times nccl-tests' factor (bus_factor of cost.h); 0 for one rank.
  BytesPerSecond bus_bandwidth;
  // Part of `time` in which the bytes occupy a rank's share of its node's ports at their nominal
  // rate, each way; 0 within a node. Another transfer over the same port at the same time loses
  // that much. All ranks of a node use its ports alike: the share of a rank is the ports over the
  // GPUs of the node.
  Seconds port_time{};
  // Share of the GPU's multiprocessors that an exchange of experts holds (overlap.h), 0 to 1.
  double held = 0;
};

// The algorithm and protocol that run, and why.
struct CollectiveChoice {
  // By name. The protocol is empty where there is none to choose.
  std::string_view algorithm, protocol;
  std::string reason;        // a sentence
  bool nvls_kernel = false;  // for library_sms (overlap.h)
};

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;

  // One call on an idle network, replayed from a graph, so that no launch gap is in it. One rank,
  // or no bytes, take no time. REQUIRES ranks >= 1 and bytes >= 0. Thread-safe; allocates nothing.
  virtual CollectiveTime predict(const Collective& collective) const = 0;
  // The same for ranks placed as given, so that one model serves every layout of a sweep.
  // InputError: the group does not lie within the cluster.
  virtual CollectiveTime predict(const Collective& collective,
                                 const RankPlacement& placement) const = 0;
  // The same where the user prescribes algorithm or protocol. InputError: the library does not
  // offer it for this collective and group. The default refuses every prescription.
  virtual CollectiveTime predict(const Collective& collective, const ForcedChoice& forced) const;

  // One dispatch or combine of experts over a group of `ranks` ranks. bus_bandwidth is DeepEP's own
  // figure, ExpertBytes::counted / time. REQUIRES ranks >= 2.
  virtual CollectiveTime exchange(const ExpertExchange& exchange, Collective::Group group,
                                  int ranks) const = 0;
  // The same for ranks placed as given.
  virtual CollectiveTime exchange(const ExpertExchange& exchange, Collective::Group group,
                                  int ranks, const RankPlacement& placement) const = 0;

  // Algorithm and protocol that run, and why. InputError: as predict. The default knows the
  // algorithm of predict and no reason.
  virtual CollectiveChoice choice(const Collective& collective,
                                  const ForcedChoice& forced = {}) const;
  // Time that no algorithm can undercut (bisection_bound of nccl_graph.h). Switches of the network
  // reduce only where `forced` asks for such an algorithm. The default is 0.
  virtual Seconds bound(const Collective& collective, const ForcedChoice& forced = {}) const;
  // The basis of the prediction for a group: "vllm on nvlink4-nvswitch, measured on h100-sxm".
  virtual std::string provenance(const Collective& collective) const = 0;
};

}  // namespace orrery
