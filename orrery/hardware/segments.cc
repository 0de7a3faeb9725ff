#include "orrery/hardware/segments.h"

namespace orrery {

NodeType in_segments(NodeType node, int gpus) {
  const int host = node.gpus_per_host, all = node.gpu_count;
  if (host <= 0 || host >= all || gpus <= all) return node;
  for (int segment = all / host * host; 2 * segment >= all; segment -= host) {
    if (gpus % segment != 0) continue;
    node.network.ports = (node.network.ports * segment + all - 1) / all;
    node.gpu_count = segment;
    break;
  }
  return node;
}

}  // namespace orrery
