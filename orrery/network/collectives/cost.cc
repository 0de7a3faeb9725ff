#include "orrery/network/collectives/cost.h"

#include <algorithm>
#include <cmath>

namespace orrery {

std::string_view to_text(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kOneShot:
      return "one-shot";
    case CollectiveAlgorithm::kTwoShot:
      return "two-shot";
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kInNetwork:
      return "in-network";
    case CollectiveAlgorithm::kDirect:
      return "direct";
  }
  return "";
}

double CostCurve::efficiency_at(int ranks) const {
  if (ranks >= 8) return efficiency[2];
  const double x = std::max(std::log2(static_cast<double>(ranks)) - 1, 0.0);
  const auto low = static_cast<std::size_t>(std::min(x, 1.0));
  const double part = x - static_cast<double>(low);
  return efficiency[low] * (1 - part) + efficiency[low + 1] * part;
}

double collective_steps(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks) {
  const bool twice = kind == Collective::Kind::kAllReduce;
  switch (algorithm) {
    case CollectiveAlgorithm::kOneShot:
    case CollectiveAlgorithm::kTwoShot:
    case CollectiveAlgorithm::kDirect:
      return kind == Collective::Kind::kSend ? 1 : ranks - 1;
    case CollectiveAlgorithm::kRing:
      return (twice ? 2 : 1) * (ranks - 1);
    case CollectiveAlgorithm::kInNetwork:
      return ranks;
  }
  return 0;
}

Bytes collective_volume(Collective::Kind kind, CollectiveAlgorithm algorithm, int ranks,
                        Bytes bytes) {
  const double n = ranks;
  if (kind == Collective::Kind::kAllReduce) {
    if (algorithm == CollectiveAlgorithm::kOneShot) return bytes * (n - 1);
    if (algorithm == CollectiveAlgorithm::kInNetwork)
      return bytes * std::max(1.0, 8.0 / 7 * (n - 1) / n);
  }
  return bytes * bus_factor(kind, ranks);
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
