#include "orrery/replay/trace_reshape.h"

namespace orrery {

double TraceDegrees::idle() const {
  if (pp == 0) return 1;
  const auto share = [](int stages) { return (stages - 1.0) / stages; };
  return share(pp) / share(from_pp);
}

double TraceDegrees::kernel(OpClass is, bool sequence_parallel) const {
  switch (is) {
    case OpClass::kGemm:
    case OpClass::kAttention:
    case OpClass::kElementwise:
    case OpClass::kOptimizer:
      return parameters();
    case OpClass::kNorm:
      return sequence_parallel ? parameters() : of_pipeline();
    default:
      return of_pipeline();
  }
}

}  // namespace orrery
