// The entry of an algorithm for the fitted curves within a node (cost.h).
#pragma once

#include "orrery/workload/ops/collective_algorithm.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct CurveAlgorithm {
  // Sequential messages among `ranks` ranks; each costs CostCurve::step.
  double (*steps)(Collective::Kind kind, int ranks);
  // Bytes that one rank must send, over the bytes of the buffer.
  double (*volume)(Collective::Kind kind, int ranks);
  // A kernel of a serving framework, rather than of the vendor's library.
  bool framework_kernel = false;
  // The reduction happens in the node's switch, which must be able to do it. One step a rank; the
  // share of the bandwidth does not depend on the number of ranks.
  bool reduces_in_switch = false;
  // Each rank sends to one neighbour only, so that bridges between neighbours carry their hops.
  bool to_neighbours = false;
};

// The entries, one for each CURVE of collective_algorithms.def: ring_curve, ... Each is defined in
// its algorithm's own file.
#define CURVE(name) extern const CurveAlgorithm name##_curve;
#define TUNER(name)
#define FLOW(name)
#define ALGORITHM(value, name, models, doc) models
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef FLOW
#undef TUNER
#undef CURVE

// The algorithm's entry. REQUIRES has_model(algorithm, AlgorithmModel::kCurve).
const CurveAlgorithm& curve_algorithm(CollectiveAlgorithm algorithm);

}  // namespace orrery
