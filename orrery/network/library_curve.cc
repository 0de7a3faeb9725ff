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
  const auto each = [&](auto f) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (std::size_t p = 0; p < kNcclProtocols; ++p) {
        if (costs[a][p].available &&
            forced.allows(static_cast<NcclAlgorithm>(a), static_cast<NcclProtocol>(p)))
          f(costs[a][p]);
      }
    }
  };
  each([&](const NcclCost& c) { least = std::min(least, c.latency); });
  const Seconds start = least * curve.start;
  CurveTime best{start, {}, Seconds(1e300)};
  each([&](const NcclCost& c) {
    const Seconds transfer = std::max(bytes / (c.bandwidth * curve.width), bound);
    const double root = std::sqrt(curve.start * c.latency.value() * transfer.value());
    const Seconds total = start + transfer + Seconds(curve.pipelining * root);
    if (total < best.total) best = {start, transfer, total};
  });
  return best;
}

CurveTime point_to_point_time(const LibraryCurve& curve, int ranks, Bytes leaving,
                              BytesPerSecond bandwidth, Seconds local) {
  return curve_time(kFirstMessage * curve.start + kEachPeer * (ranks - 1.0),
                    overlapped(leaving / (bandwidth * kPortShare), local), kPeersPipelining);
}

}  // namespace orrery
