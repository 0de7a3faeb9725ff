// The effect of other degrees of tensor and pipeline parallelism on the work in the trace of one
// rank.
//
//   tensor    Products, attention, elementwise kernels and the optimizer take from/to of their
//             time. So do norms if the trace shows sequence parallelism (its group gathers or
//             reduce-scatters). Collectives of the group keep their bytes.
//   pipeline  A stage has from/to of the layers: kernels, the host's work and the optimizer take
//             that share of their time. (This is not exact for the embedding and the LM head.) Time
//             in sends and receives is mostly idle time of the pipeline; it changes by the ratio of
//             (p-1)/p, as for 1F1B with the same micro-batches.
//   both      Collectives of other groups carry gradients or weights: from/to of the bytes.
//
// The shares of work are exact for products. That smaller products are less efficient is not
// modelled, so that all changed times have the relative error kReshapeError.
#pragma once

#include "orrery/replay/op_class.h"

namespace orrery {

// An assumption: no measured pairs of traces were available to fit it.
inline constexpr double kReshapeError = 0.2;

struct TraceDegrees {
  int tp = 0, from_tp = 0;  // wanted and traced degree; tp 0: unchanged
  int pp = 0, from_pp = 0;  // the same of the pipeline

  bool asked() const { return tp > 0 || pp > 0; }
  // Factors of the work that each degree divides.
  double of_tensor() const { return tp > 0 ? 1.0 * from_tp / tp : 1; }
  double of_pipeline() const { return pp > 0 ? 1.0 * from_pp / pp : 1; }
  // Factor of the parameters of a rank.
  double parameters() const { return of_tensor() * of_pipeline(); }
  // Factor of the pipeline's idle time. REQUIRES from_pp > 1 if pp is asked for.
  double idle() const;
  // Factor of the time of a kernel that is not a collective.
  double kernel(OpClass is, bool sequence_parallel) const;
};

}  // namespace orrery
