#include "orrery/network/algorithms/cost.h"

#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/curve_algorithm.h"

namespace orrery {

double CostCurve::efficiency_at(int ranks) const {
  if (ranks >= 8) return efficiency[2];
  const double x = std::max(std::log2(static_cast<double>(ranks)) - 1, 0.0);
  const auto low = static_cast<std::size_t>(std::min(x, 1.0));
  const double part = x - static_cast<double>(low);
  return efficiency[low] * (1 - part) + efficiency[low + 1] * part;
}

double collective_steps(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks) {
  return curve_algorithm(algorithm).steps(kind, ranks);
}

Bytes collective_volume(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks,
                        Bytes bytes) {
  return bytes * curve_algorithm(algorithm).volume(kind, ranks);
}

double bus_factor(Collective::Kind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case Collective::Kind::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::Kind::kAllGather:
    case Collective::Kind::kReduceScatter:
    case Collective::Kind::kAllToAll:
      return (n - 1) / n;
    case Collective::Kind::kBroadcast:
    case Collective::Kind::kSend:
    case Collective::Kind::kReduce:
      return 1;
  }
  return 1;
}

CurveTime curve_time(Seconds latency, Seconds transfer, double pipelining) {
  const Seconds between(pipelining * std::sqrt(latency.value() * transfer.value()));
  return {latency, transfer, latency + transfer + between};
}

CurveTime curve_time(const CostCurve& curve, Collective::Kind kind, CollectiveAlgorithm algorithm,
                     int ranks, Bytes bytes, BytesPerSecond bandwidth) {
  return curve_time(
      curve.latency + curve.step * collective_steps(kind, algorithm, ranks),
      collective_volume(kind, algorithm, ranks, bytes) / (bandwidth * curve.efficiency_at(ranks)),
      curve.pipelining);
}

Seconds overlapped(Seconds a, Seconds b) {
  const double most = std::max(a.value(), b.value());
  if (most <= 0) return Seconds(0);
  const double other = std::min(a.value(), b.value()) / most;
  const double square = other * other;
  return Seconds(most * std::sqrt(std::sqrt(1 + square * square)));
}

}  // namespace orrery
