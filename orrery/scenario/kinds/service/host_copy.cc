#include "orrery/scenario/kinds/service/host_copy.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {

BytesPerSecond host_copy_rate(const Gpu& gpu) {
  if (!gpu.host_link.bandwidth) {
    throw NoData(fmt::format("{}: the rate of the link to its host is not known ({})", gpu.id,
                             gpu.host_link.kind.empty() ? "no host link" : gpu.host_link.kind));
  }
  constexpr double kReached = 0.82;
  return *gpu.host_link.bandwidth * kReached;
}

Seconds host_copy_time(const Gpu& gpu, Bytes bytes, std::int64_t tensors) {
  constexpr Seconds kCall = microseconds(10);
  return bytes / host_copy_rate(gpu) + static_cast<double>(tensors) * kCall;
}

}  // namespace orrery
