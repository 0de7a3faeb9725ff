// The all-reduce kernels of serving frameworks, within a node: one-shot for the smallest messages,
// two-shot for longer ones.
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/curve_algorithm.h"

namespace orrery {

namespace {

double to_each_peer(Collective::Kind kind, int ranks) {
  return kind == Collective::Kind::kSend ? 1 : ranks - 1;
}

}  // namespace

constinit const CurveAlgorithm one_shot_curve{
    .steps = to_each_peer,
    .volume =
        [](Collective::Kind kind, int ranks) {
          return kind == Collective::Kind::kAllReduce ? ranks - 1.0 : bus_factor(kind, ranks);
        },
    .framework_kernel = true,
};

constinit const CurveAlgorithm two_shot_curve{
    .steps = to_each_peer,
    .volume = bus_factor,
    .framework_kernel = true,
};

}  // namespace orrery
