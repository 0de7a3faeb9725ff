// The direct exchange: every rank sends to every other one. All-to-alls and sends have no other
// algorithm.
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/curve_algorithm.h"

namespace orrery {

constinit const CurveAlgorithm direct_curve{
    .steps = [](Collective::Kind kind, int ranks) -> double {
      return kind == Collective::Kind::kSend ? 1 : ranks - 1;
    },
    .volume = bus_factor,
};

}  // namespace orrery
