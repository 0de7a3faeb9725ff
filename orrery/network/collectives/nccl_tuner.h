// NCCL's own cost model (2.30): which algorithm and protocol it takes for a collective.
//
//   time = latency + bytes / bandwidth, least over (algorithm, protocol)
//
// Its times are not predictions: they are 16 to 66 % low below 128 MiB. Use it to choose, and
// cost.h to time. Latencies, caps and corrections are those of ../shared/reference/network.md,
// "NCCL's own cost model", which gives no bandwidth for CollNet: the network's switches add up, so
// that a message passes each port once, at a ring's share of it. CollNet is offered only where it
// is switched on.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class NcclAlgorithm { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
inline constexpr std::size_t kNcclAlgorithms = 7;
enum class NcclProtocol { kLl, kLl128, kSimple };
inline constexpr std::size_t kNcclProtocols = 3;

// "tree", "ring", "collnet-direct", ...; "ll", "ll128", "simple". Parsed in any case, also with
// NCCL's spelling ("NVLSTree", "LL128").
std::string_view to_text(NcclAlgorithm algorithm);
std::string_view to_text(NcclProtocol protocol);
std::optional<NcclAlgorithm> parse_nccl_algorithm(std::string_view text);
std::optional<NcclProtocol> parse_nccl_protocol(std::string_view text);
const std::vector<std::string>& nccl_algorithm_names();
const std::vector<std::string>& nccl_protocol_names();

enum class NcclGeneration { kVolta, kAmpere, kHopper, kBlackwell };

// What NCCL's search of the topology finds: channels and the bandwidth of each.
struct NcclGraph {
  NcclGeneration generation = NcclGeneration::kHopper;
  int ranks_per_node = 8, nodes = 1;
  bool nvlink = true;  // within the node; false: PCI Express
  int channels = 12;
  BytesPerSecond intra{}, inter{};  // of one channel, within and between nodes
  int nvls_channels = 0;            // 0: the switch does not add up
  BytesPerSecond nvls{};            // of one of these channels
  Seconds nic_latency{};  // of a message between nodes beyond that in NCCL's table (InfiniBand)
  bool amd_cpu = false;
  bool collnet = false;     // the network's switches add up and NCCL_COLLNET_ENABLE is set
  bool ll128 = true;        // close NICs; needs NVLink too
  bool rings_only = false;  // RCCL across nodes

  int ranks() const { return ranks_per_node * nodes; }
};

// Latency and algorithm bandwidth (bytes / bandwidth is a time) of one pair; available: whether
// NCCL considers it for this collective and graph.
struct NcclCost {
  bool available = false;
  Seconds latency;
  BytesPerSecond bandwidth;
  Seconds nic{};  // what of the latency is nic_latency's, over all sequential messages
  // NVLSTree alone: stages beyond the first that a chunk passes, 2 log2(nodes), and the time that
  // its largest chunks take to fill them: 7 us for each GPU of a domain, and 8 nic_latency, a
  // stage.
  double stages = 0;
  Seconds fill{};
};
// Why NCCL does not consider a pair for a collective on this graph; empty: it does.
std::string_view why_not_offered(const NcclGraph& graph, Collective::Kind kind,
                                 NcclAlgorithm algorithm, NcclProtocol protocol);

NcclCost nccl_cost(const NcclGraph& graph, Collective::Kind kind, NcclAlgorithm algorithm,
                   NcclProtocol protocol);

// The pairs that NCCL considers, in the order of the enums.
class NcclCosts {
 public:
  struct Offer {
    NcclAlgorithm algorithm = NcclAlgorithm::kRing;
    NcclProtocol protocol = NcclProtocol::kSimple;
    NcclCost cost;
  };
  void add(const Offer& offer) { offers_[size_++] = offer; }
  const Offer* begin() const { return offers_.data(); }
  const Offer* end() const { return offers_.data() + size_; }

 private:
  std::array<Offer, kNcclAlgorithms * kNcclProtocols> offers_;
  std::size_t size_ = 0;
};
NcclCosts nccl_costs(const NcclGraph& graph, Collective::Kind kind);

// What both offer, with the longer latency and the smaller bandwidth of each pair.
NcclCosts slowest(const NcclCosts& a, const NcclCosts& b);

// The tuner's time of one pair for a message, with its corrections for trees and rings. REQUIRES
// cost.available.
Seconds nccl_time(const NcclGraph& graph, Collective::Kind kind, NcclAlgorithm algorithm,
                  NcclProtocol protocol, const NcclCost& cost, Bytes bytes);

// Restricts the choice, as NCCL_ALGO and NCCL_PROTO do.
struct NcclForced {
  std::optional<NcclAlgorithm> algorithm{};
  std::optional<NcclProtocol> protocol{};
  bool allows(NcclAlgorithm a, NcclProtocol p) const {
    return (!algorithm || *algorithm == a) && (!protocol || *protocol == p);
  }
  // Whoever asks for CollNet has set NCCL_COLLNET_ENABLE.
  bool collnet() const {
    return algorithm == NcclAlgorithm::kCollNetDirect || algorithm == NcclAlgorithm::kCollNetChain;
  }
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  Seconds time;
};
// The pair of the least time; nothing if none is available.
std::optional<NcclChoice> nccl_choose(const NcclGraph& graph, Collective::Kind kind,
                                      const NcclCosts& costs, Bytes bytes,
                                      const NcclForced& forced = {});

}  // namespace orrery
