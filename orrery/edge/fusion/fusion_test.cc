#include "orrery/edge/fusion/fusion_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {

double fusion_saving(const FusionTiming& timing) {
  for (const double ms : {timing.first_ms, timing.second_ms, timing.block_ms}) {
    if (!(ms > 0) || !std::isfinite(ms)) {
      throw InputError(fmt::format("a time of {} ms; times of operators are positive", ms));
    }
  }
  return (timing.first_ms + timing.second_ms - timing.block_ms) /
         std::min(timing.first_ms, timing.second_ms);
}

bool is_fused(const FusionTiming& timing) { return fusion_saving(timing) > 0.5; }

}  // namespace orrery
