// What other degrees of tensor and pipeline parallelism make of the work that one rank's trace has.
//
//   tensor    products, attention, elementwise kernels and the optimizer have from/to of their
//   work;
//             norms too where the trace shows sequence parallelism (its group gathers or
//             reduce-scatters), else they stay whole. Collectives of the group keep their bytes.
//   pipeline  a stage holds from/to of the layers: kernels, the host's work and the optimizer take
//             that share (the ends' embedding and LM head as well, which is not exact). Time in
//             sends and receives is mostly the pipeline's idle time: of 1F1B with the same
//             micro-batches it goes as (p-1)/p.
//   both      collectives of other groups carry gradients or weights: from/to of the bytes.
//
// The share of work is exact for products; that smaller ones are less efficient is not modelled:
// kReshapeError is assumed for whatever a degree changes.
#pragma once

#include "orrery/replay/op_class.h"

namespace orrery {

inline constexpr double kReshapeError = 0.2;

struct TraceDegrees {
  int tp = 0, from_tp = 0;  // tp 0: as it was
  int pp = 0, from_pp = 0;

  bool asked() const { return tp > 0 || pp > 0; }
  double of_tensor() const { return tp > 0 ? 1.0 * from_tp / tp : 1; }
  double of_pipeline() const { return pp > 0 ? 1.0 * from_pp / pp : 1; }
  // Of the parameters of a rank, after over before.
  double parameters() const { return of_tensor() * of_pipeline(); }
  // Of the pipeline's idle time, after over before. REQUIRES from_pp > 1 where pp is asked.
  double idle() const;
  // Of a kernel that is no collective.
  double kernel(OpClass is, bool sequence_parallel) const;
};

}  // namespace orrery
