#include "orrery/training/overlap/offload_overlap.h"

#include <algorithm>
#include <array>

#include "orrery/base/index.h"

namespace orrery {

Seconds offloaded_time(Seconds compute, Seconds transfer, int layers) {
  if (layers < 2) return compute;
  return std::max(compute, (2 * compute + (layers - 2) * transfer) / layers);
}

Seconds run_offloaded(Seconds compute, Seconds transfer, int layers) {
  const Seconds a = compute / layers, c = transfer / layers;
  Seconds computed, sent;
  std::array<Seconds, 2> left;  // time at which each buffer is free
  for (int i = 0; i < layers; ++i) {
    Seconds& buffer = left[index(i % 2)];
    computed = std::max(computed, buffer) + a;
    sent = std::max(sent, computed) + c;
    buffer = sent;
  }
  return computed;
}

}  // namespace orrery
