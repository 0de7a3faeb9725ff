#include "orrery/network/collectives/judged_time.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kTransferredShared = 0.10, kTransferredOwn = 0.25;
constexpr double kAnalyticalShared = 0.20;

}  // namespace

void JudgedTime::weaken(Origin at_least) { origin = std::max(origin, at_least); }

double shared_error(Origin origin) {
  if (origin <= Origin::kFitted) return kMeasuredShared;
  return origin == Origin::kTransferred ? kTransferredShared : kAnalyticalShared;
}

Estimate<Seconds> estimate_of(const JudgedTime& judged) {
  Estimate<Seconds> e{judged.time.total, kMachineShared, judged.error, judged.origin,
                      Tails::kHeavy};
  if (judged.shared) {
    e.shared = root_of_squares(kMeasuredShared, *judged.shared);
    return e;
  }
  if (judged.origin <= Origin::kFitted) return e;
  e.shared = shared_error(judged.origin);
  e.own = root_of_squares(judged.error,
                          judged.origin == Origin::kTransferred ? kTransferredOwn : kAnalyticalOwn);
  return e;
}

}  // namespace orrery
