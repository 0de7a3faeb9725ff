#include "orrery/network/collectives/wire_bytes.h"

#include <optional>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {
namespace {

// The curve of the algorithm, if it has one.
const CurveAlgorithm* curve_of(std::string_view algorithm) {
  const auto known = parse_collective_algorithm(algorithm, AlgorithmModel::kCurve);
  return known ? &curve_algorithm(*known) : nullptr;
}

// Whether the switch of each node reduces.
bool reduces_in_switch(const CurveAlgorithm* curve, std::string_view algorithm) {
  if (curve != nullptr && curve->reduces_in_switch) return true;
  const auto known = parse_collective_algorithm(algorithm, AlgorithmModel::kTuner);
  return known && tuner_algorithm(*known).overlap == LatencyOverlap::kSwitch;
}

// Bytes that pass the switches of all nodes together.
Bytes through_switches(const Collective& c) {
  const double n = c.ranks;
  return c.kind == Collective::Kind::kAllReduce ? c.bytes * n : c.bytes * ((n + 1) / 2);
}

}  // namespace

WireBytes wire_bytes(const Collective& c, const GroupLink& link, const CollectiveChoice& choice,
                     const CollectiveTime& time) {
  using Kind = Collective::Kind;
  WireBytes wires;
  if (c.ranks < 2) return wires;
  const double n = c.ranks, nodes = link.nodes;
  if (link.nodes > 1) wires.between = (link.bandwidth * time.port_time) * n;
  const CurveAlgorithm* const curve = curve_of(choice.algorithm);
  if (reduces_in_switch(curve, choice.algorithm)) {
    wires.inside = through_switches(c);
    return wires;
  }
  if (c.kind == Kind::kAllToAll) {
    wires.inside = c.bytes * (link.ranks_per_node - 1.0);
  } else if (c.kind == Kind::kSend) {
    wires.inside = link.nodes > 1 ? Bytes(0) : c.bytes * n;
  } else if (link.nodes > 1) {
    wires.inside = c.bytes * (bus_factor(c.kind, c.ranks) * (n - nodes));
  } else if (c.kind == Kind::kBroadcast || c.kind == Kind::kReduce) {
    wires.inside = c.bytes * (n - 1);
  } else {
    const double volume =
        curve != nullptr ? curve->volume(c.kind, c.ranks) : bus_factor(c.kind, c.ranks);
    wires.inside = c.bytes * (volume * n);
  }
  return wires;
}

}  // namespace orrery
