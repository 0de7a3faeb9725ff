#include "orrery/network/fit/send_transfer.h"

#include <algorithm>

#include "orrery/network/fit/inside_fit.h"

namespace orrery {

namespace {

constexpr int kPair = 2;

Seconds start_of_pair(const FittedCurve& ring) {
  return ring.curve.latency +
         ring.curve.step * collective_steps(Collective::Kind::kAllReduce, ring.algorithm, kPair);
}

}  // namespace

const FittedCurve* reducing_ring(const std::vector<FittedCurve>& curves) {
  const auto found = std::find_if(curves.begin(), curves.end(), [](const FittedCurve& f) {
    return f.stack == "library" && f.algorithm == CollectiveAlgorithm::kRing &&
           f.kind == Collective::Kind::kAllReduce;
  });
  return found == curves.end() ? nullptr : &*found;
}

FittedCurve transferred_send(const FittedCurve& send, const FittedCurve& its_ring,
                             const FittedCurve& ring) {
  const double later = start_of_pair(ring) / start_of_pair(its_ring);
  const double wider = ring.curve.efficiency_at(kPair) / its_ring.curve.efficiency_at(kPair);
  FittedCurve copy = send;
  copy.rows = 0;
  copy.curve.latency *= later;
  copy.curve.step *= later;
  for (double& share : copy.curve.efficiency) share = std::min(kMostEfficiency, share * wider);
  return copy;
}

}  // namespace orrery
