#include "orrery/network/algorithms/host_launches.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// The relative error of a launch, because hosts differ: eager calls of vLLM's all-reduce between
// two GPUs take 20 us on the fastest host of data/kernels/collective_allreduce (H200) and 52 us on
// the slowest one (GB200). That is a factor of e^0.48 to either side of their middle, which an
// interval of 90 % holds if sigma is 0.29.
constexpr double kHostError = 0.29;

}  // namespace

Estimate<Seconds> launched(const Estimate<Seconds>& kernels, const HostLaunches& launches) {
  Estimate<Seconds> time = kernels;
  if (launches.usual() || kernels.value <= Seconds(0)) return time;
  if (launches.graph) {
    time.value = std::max(kernels.value - launches.in_tables, kernels.value * 0.5);
    const Seconds least = std::max(time.value - kLaunchOfKernel, time.value * 0.5);
    const double down = std::log(time.value / least);
    time.own = std::hypot(time.own, down / heavy_quantile(0.95));
    return time;
  }
  const Seconds host = kLaunchOfKernel * launches.gpus_per_thread;
  if (host <= kernels.value) return time;
  // The host is the longer stage; the kernels' error counts no more, as long as they are shorter.
  const double ahead = std::log(host / kernels.value);
  const double reach = kernels.sigma() - ahead / heavy_quantile(0.95);
  time.value = host;
  time.own = std::max(kHostError, reach), time.shared = 0;
  time.origin = std::max(time.origin, Origin::kFitted);
  return time;
}

}  // namespace orrery
