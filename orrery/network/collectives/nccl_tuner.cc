#include "orrery/network/collectives/nccl_tuner.h"

#include <algorithm>
#include <bit>

namespace orrery {
namespace {

constexpr auto kTuner = AlgorithmModel::kTuner;

StepLatencies step_latencies(const NcclGraph& g, CollectiveAlgorithm algorithm,
                             CollectiveProtocol protocol, double nic_latency) {
  const NcclTables& t = *g.tables;
  const auto a = static_cast<std::size_t>(algorithm), p = static_cast<std::size_t>(protocol);
  // Simple waits for a flush of the NIC, too.
  const int messages = protocol == CollectiveProtocol::kSimple ? 2 : 1;
  return {t.base[a][p], (g.nvlink ? t.nvlink : t.pci)[a][p],
          t.network[a][p] + nic_latency * messages};
}

}  // namespace

std::string_view why_not_offered(const NcclGraph& g, Collective::Kind kind,
                                 CollectiveAlgorithm algorithm, CollectiveProtocol protocol) {
  if (kind == Collective::Kind::kAllToAll || kind == Collective::Kind::kSend)
    return "it has no algorithm to choose";
  if (!has_model(algorithm, kTuner)) return "NCCL does not have this algorithm";
  if (g.rings_only && algorithm != CollectiveAlgorithm::kRing)
    return "on several nodes this library has rings only";
  const TunerAlgorithm& entry = tuner_algorithm(algorithm);
  if (g.version && *g.version < entry.since) return "this version of NCCL does not have it";
  if (protocol != CollectiveProtocol::kSimple && entry.simple_only)
    return "it has the Simple protocol only";
  if (protocol == CollectiveProtocol::kLl128 && !(g.ll128 && g.nvlink)) return "LL128 needs NVLink";
  return entry.why_not_offered({g, kind, protocol});
}

NcclCost nccl_cost(const NcclGraph& g, Collective::Kind kind, CollectiveAlgorithm algorithm,
                   CollectiveProtocol protocol) {
  if (!why_not_offered(g, kind, algorithm, protocol).empty()) return {};
  const TunerAlgorithm& entry = tuner_algorithm(algorithm);
  const TunerCall call{g, kind, protocol};
  const auto latency = [&](double nic_latency) {
    return entry.latency(call, step_latencies(g, algorithm, protocol, nic_latency));
  };
  const double bus = entry.bus_bandwidth(call);
  const double all = latency(g.nic_latency / microseconds(1));
  NcclCost cost;
  cost.available = bus > 0;
  cost.latency = microseconds(all);
  cost.bandwidth = BytesPerSecond(bus * entry.algorithm_share(call) * 1e9);
  cost.nic = microseconds(all - latency(0));
  cost.overlap = entry.overlap;
  if (entry.refine != nullptr) entry.refine(call, cost);
  return cost;
}

NcclCosts nccl_costs(const NcclGraph& g, Collective::Kind kind) {
  NcclCosts all;
  for (std::size_t a = 0; a < kCollectiveAlgorithms; ++a) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(a);
    if (!has_model(algorithm, kTuner)) continue;
    for (std::size_t p = 0; p < kCollectiveProtocols; ++p) {
      const auto protocol = static_cast<CollectiveProtocol>(p);
      const NcclCost cost = nccl_cost(g, kind, algorithm, protocol);
      if (cost.available) all.add({algorithm, protocol, cost});
    }
  }
  return all;
}

NcclCosts slowest(const NcclCosts& own, const NcclCosts& other) {
  NcclCosts both;
  for (const NcclCosts::Offer& x : own) {
    for (const NcclCosts::Offer& y : other) {
      if (x.algorithm != y.algorithm || x.protocol != y.protocol) continue;
      NcclCosts::Offer worst = x;
      NcclCost& cost = worst.cost;
      // The NIC's part of the latency is not scaled with the rest (library_curve.h).
      cost.nic = std::max(x.cost.nic, y.cost.nic);
      cost.latency = std::max(x.cost.latency - x.cost.nic, y.cost.latency - y.cost.nic) + cost.nic;
      cost.bandwidth = std::min(x.cost.bandwidth, y.cost.bandwidth);
      cost.stages = std::max(x.cost.stages, y.cost.stages);
      cost.fill = std::max(x.cost.fill, y.cost.fill);
      both.add(worst);
    }
  }
  return both;
}

Seconds nccl_time(const NcclCost& cost, Bytes bytes) {
  Seconds start = cost.latency;
  double factor = 1;
  if (cost.by_size != nullptr) {
    // floor(log2) of whole units of 64 bytes.
    const auto units = static_cast<std::uint64_t>(std::min(bytes.value() / 64, 1e18));
    const auto size = static_cast<std::size_t>(std::bit_width(units | 1) - 1);
    if (size < cost.by_size->size()) factor = (*cost.by_size)[size];
  }
  if (bytes >= cost.plateau_from) start *= cost.plateau;
  return start + bytes / (cost.bandwidth * factor);
}

std::optional<NcclChoice> nccl_choose(const NcclCosts& costs, Bytes bytes,
                                      const ForcedChoice& forced) {
  std::optional<NcclChoice> best;
  for (const auto& [a, p, cost] : costs) {
    if (!forced.allows(a, p)) continue;
    const Seconds t = nccl_time(cost, bytes);
    if (!best || t < best->time) best = {a, p, t};
  }
  return best;
}

}  // namespace orrery
