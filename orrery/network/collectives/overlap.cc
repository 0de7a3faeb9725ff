#include "orrery/network/collectives/overlap.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr int kChannelSms = 24, kInNetworkSms = 16;

}  // namespace

int library_sms(const Gpu& gpu, bool in_network) {
  if (gpu.vendor != "nvidia") return 0;
  return in_network ? kInNetworkSms : kChannelSms;
}

double compute_slowdown(int held, int all) {
  return static_cast<double>(all) / std::max(1, all - held);
}

}  // namespace orrery
