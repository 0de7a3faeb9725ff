// Sums over the links of a topology, for tests.
#pragma once

#include "orrery/flow/topology/topology.h"

namespace orrery {

// Bandwidth of all links out of a GPU: nothing that the GPU sends is faster.
inline BytesPerSecond out_bandwidth(const Topology& topology, int gpu) {
  BytesPerSecond sum;
  for (const Link& l : topology.links()) {
    if (l.from == gpu) sum += l.bandwidth;
  }
  return sum;
}

}  // namespace orrery
