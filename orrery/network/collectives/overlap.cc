#include "orrery/network/collectives/overlap.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr int kChannelSms = 24, kNvlsSms = 16;

}  // namespace

int library_sms(const Gpu& gpu, bool nvls_kernel) {
  if (gpu.vendor != "nvidia") return 0;
  return nvls_kernel ? kNvlsSms : kChannelSms;
}

double compute_slowdown(int held, int all) {
  return static_cast<double>(all) / std::max(1, all - held);
}

}  // namespace orrery
