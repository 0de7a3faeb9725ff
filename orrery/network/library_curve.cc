#include "orrery/network/library_curve.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr Seconds kFirstMessage = microseconds(6.6 + 2.7);  // ring LL: base and one hop
constexpr Seconds kEachPeer = microseconds(1.2);
constexpr double kPortShare = 0.945, kPeersPipelining = 0.4;

}  // namespace

CurveTime library_time(const LibraryCurve& curve, const NcclCosts& costs, Bytes bytes,
                       Seconds bound, const NcclForced& forced) {
  Seconds least(1e30);
  bool only_rings = true;
  const auto each = [&](auto f) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (std::size_t p = 0; p < kNcclProtocols; ++p) {
        const auto algorithm = static_cast<NcclAlgorithm>(a);
        if (costs[a][p].available && forced.allows(algorithm, static_cast<NcclProtocol>(p)))
          f(algorithm, costs[a][p]);
      }
    }
  };
  each([&](NcclAlgorithm a, const NcclCost& c) {
    least = std::min(least, c.latency);
    only_rings &= a == NcclAlgorithm::kRing;
  });
  CurveTime best{least * curve.start, {}, Seconds(1e300)};
  each([&](NcclAlgorithm a, const NcclCost& c) {
    const Seconds own = c.latency * curve.start;
    const double width = a == NcclAlgorithm::kRing ? std::min(curve.width, 1.0) : curve.width;
    const Seconds transfer = std::max(bytes / (c.bandwidth * width), bound);
    if (only_rings) {
      const Seconds total(std::hypot(own.value(), transfer.value()));
      if (total < best.total) best = {own, transfer, total};
      return;
    }
    const Seconds root(curve.pipelining * std::sqrt(own.value() * transfer.value()));
    const Seconds start = least * curve.start;
    if (start + transfer + root < best.total) best = {start, transfer, start + transfer + root};
  });
  return best;
}

CurveTime point_to_point_time(const LibraryCurve& curve, int ranks, Bytes leaving,
                              BytesPerSecond bandwidth, Seconds local) {
  return curve_time(kFirstMessage * curve.start + kEachPeer * (ranks - 1.0),
                    overlapped(leaving / (bandwidth * kPortShare), local), kPeersPipelining);
}

}  // namespace orrery
