#include "orrery/network/fit/send_transfer.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/fit.h"
#include "orrery/network/fit/inside_fit.h"

namespace orrery {

namespace {

constexpr int kPair = 2;

constexpr double kSendHuber = 0.1;  // residuals beyond this count linearly
constexpr int kSendEvaluations = 1000;

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

Seconds start_of_sends(const std::vector<std::vector<MeasuredCollective>>& groups) {
  if (groups.empty()) return Seconds(0);
  const auto start_at = [](double x) { return microseconds(8 * std::exp(2 * x)); };
  const Loss loss = [&](const std::vector<double>& x) {
    const double share = kMostEfficiency / (1 + std::exp(-(0.5 + 4 * x[1])));
    double sum = 0;
    for (const std::vector<MeasuredCollective>& rows : groups) {
      double own = 0;
      for (const MeasuredCollective& row : rows) {
        const Seconds time = start_at(x[0]) + row.bytes / (row.bandwidth * share);
        own += huber(std::log(time / row.time), kSendHuber);
      }
      sum += own / static_cast<double>(rows.size());
    }
    return sum;
  };
  return start_at(minimise(loss, {0, 0}, equal_bounds(2, -1.5, 1.5),
                           {.step = 0.25, .evaluations = kSendEvaluations})[0]);
}

}  // namespace orrery
