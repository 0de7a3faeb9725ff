#include "orrery/network/collectives/library_curve.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr Seconds kEachPeer = microseconds(1.2);
constexpr double kLargestChunks =
    16;  // in the shortest message that is cut into the largest chunks
constexpr double kPortShare = 0.945, kPeersPipelining = 0.4;

}  // namespace

CurveTime library_time(const LibraryCurve& curve, const NcclCosts& costs, Bytes bytes,
                       Seconds bound, const ForcedChoice& forced) {
  const auto latency = [&](const NcclCost& c) { return (c.latency - c.nic) * curve.start + c.nic; };
  Seconds least(1e30), least_of_switch(1e30);
  bool only_rings = true;  // of those whose start another one may take
  for (const auto& [a, p, c] : costs) {
    if (!forced.allows(a, p) || c.overlap == LatencyOverlap::kAlone) continue;
    const Seconds own = latency(c);
    if (c.overlap == LatencyOverlap::kSwitch) {
      if (own < least_of_switch) least_of_switch = own;
    } else if (own < least) {
      least = own;
    }
    only_rings &= c.overlap == LatencyOverlap::kRing;
  }
  if (least == Seconds(1e30)) least = least_of_switch;
  CurveTime best{least, {}, Seconds(1e300)};
  for (const auto& [a, p, c] : costs) {
    if (!forced.allows(a, p)) continue;
    const Seconds own = latency(c);
    const bool ring = c.overlap == LatencyOverlap::kRing;
    const double width = ring ? std::min(curve.width, 1.0) : curve.width;
    const Seconds transfer = std::max(bytes / (c.bandwidth * width), bound);
    if (c.overlap == LatencyOverlap::kAlone) {
      const CurveTime alone = curve_time(own, transfer, curve.pipelining);
      if (alone.total < best.total) best = alone;
      continue;
    }
    if (only_rings) {
      const Seconds total(root_of_squares(own.value(), transfer.value()));
      if (total < best.total) best = {own, transfer, total};
      continue;
    }
    if (!(least + transfer < best.total)) continue;
    double between = std::sqrt(own.value() * transfer.value());
    if (ring) between = std::min(between, own.value());
    if (c.fill > Seconds(0)) {
      between += std::sqrt(c.stages * c.fill.value() * transfer.value() / kLargestChunks);
      between = std::min(between, c.fill.value());
    }
    const Seconds total = least + transfer + Seconds(curve.pipelining * between);
    if (total < best.total) best = {least, transfer, total};
  }
  return best;
}

double start_share(const CurveTime& t) {
  const double transfer = t.transfer / t.total;
  // T^2 = L^2 + W^2 where the latency overlaps with the transfer.
  return t.total < t.latency + t.transfer ? 1 - transfer * transfer : 1 - transfer;
}

double PartErrors::parts(const CurveTime& time) const {
  const double share = start_share(time);
  return root_of_squares(share * start, (1 - share) * width);
}

double PartErrors::sigma(const CurveTime& time) const { return std::hypot(parts(time), curve); }

CurveTime point_to_point_time(const LibraryCurve& curve, const NcclTables& tables,
                              const PointToPoint& x) {
  const Seconds first_message = microseconds(ring_ll(tables.base) + ring_ll(tables.network));
  return curve_time(first_message * curve.start + x.nic + kEachPeer * (x.ranks - 1.0),
                    overlapped(x.leaving / (x.bandwidth * kPortShare), x.local), kPeersPipelining);
}

}  // namespace orrery
