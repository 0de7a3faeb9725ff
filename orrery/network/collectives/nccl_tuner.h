// NCCL's own cost model: which algorithm and protocol the library takes for a collective.
//
//   time = latency + bytes / bandwidth,   the least over all pairs (algorithm, protocol) on offer
//
// The model chooses as NCCL chooses, but its times are no predictions: they are 16 to 66 % low
// below 128 MiB (docs/reference/network.md, section "Fitted curves"). library_curve.h makes times
// from its latencies and bandwidths.
//
// Each algorithm has a file of its own behind TunerAlgorithm (orrery/network/algorithms);
// latencies, bandwidth limits and corrections are NcclTables. NCCL has no bandwidth for CollNet in
// its tables: a message is taken to pass each port once, at a ring's share of the port.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "orrery/base/units.h"
#include "orrery/network/algorithms/tuner_algorithm.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// Number of algorithms that the tuner knows.
inline constexpr std::size_t kTunerAlgorithms = 0
#define CURVE(name)
#define TUNER(name) +1
#define FLOW(name)
#define ALGORITHM(value, name, models, doc) models
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef FLOW
#undef TUNER
#undef CURVE
    ;

// Why NCCL does not consider a pair for a collective on this graph; empty: it does. Static text.
std::string_view why_not_offered(const NcclGraph& graph, Collective::Kind kind,
                                 CollectiveAlgorithm algorithm, CollectiveProtocol protocol);

// The pair's latency and bandwidth. REQUIRES graph.tables.
NcclCost nccl_cost(const NcclGraph& graph, Collective::Kind kind, CollectiveAlgorithm algorithm,
                   CollectiveProtocol protocol);

// The pairs that NCCL considers, in the order of the registry.
class NcclCosts {
 public:
  struct Offer {
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
    CollectiveProtocol protocol = CollectiveProtocol::kSimple;
    NcclCost cost;
  };
  void add(const Offer& offer) { offers_[size_++] = offer; }
  const Offer* begin() const { return offers_.data(); }
  const Offer* end() const { return offers_.data() + size_; }

 private:
  std::array<Offer, kTunerAlgorithms * kCollectiveProtocols> offers_;
  std::size_t size_ = 0;
};
NcclCosts nccl_costs(const NcclGraph& graph, Collective::Kind kind);

// The pairs that both offer, each with the longer latency and the smaller bandwidth of the two, and
// with the corrections of `own`.
NcclCosts slowest(const NcclCosts& own, const NcclCosts& other);

// The tuner's time of one pair for a message, with its corrections. REQUIRES cost.available.
Seconds nccl_time(const NcclCost& cost, Bytes bytes);

struct NcclChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  Seconds time;  // the tuner's
};
// The pair of the least time among those that `forced` allows; nothing if none is on offer.
std::optional<NcclChoice> nccl_choose(const NcclCosts& costs, Bytes bytes,
                                      const ForcedChoice& forced = {});

// Whether a forced algorithm reduces in the network's switches, for which the user must have set
// NCCL_COLLNET_ENABLE.
inline bool is_collnet(const ForcedChoice& forced) {
  return forced.algorithm && has_model(*forced.algorithm, AlgorithmModel::kTuner) &&
         tuner_algorithm(*forced.algorithm).collnet;
}

// Whether a forced algorithm needs buffers that the application registers as windows.
inline bool is_symmetric(const ForcedChoice& forced) {
  return forced.algorithm && has_model(*forced.algorithm, AlgorithmModel::kTuner) &&
         tuner_algorithm(*forced.algorithm).symmetric;
}

}  // namespace orrery
