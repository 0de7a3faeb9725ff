#include "orrery/training/iteration/host_link.h"

namespace orrery {

BytesPerSecond host_link(const Gpu& gpu) {
  return gpu.host_link.bandwidth.value_or(BytesPerSecond(25e9));
}

}  // namespace orrery
