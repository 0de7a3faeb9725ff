#include "orrery/network/overlap.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr int kChannelSms = 24, kInNetworkSms = 16;

}  // namespace

int library_sms(const Cluster& cluster, Collective::Kind kind) {
  if (cluster.gpu().vendor != "nvidia") return 0;
  const Fabric* fabric = cluster.scale_up();
  const bool reduces_in_switch = kind == Collective::Kind::kAllReduce && fabric != nullptr &&
                                 fabric->in_network_reduction && cluster.nodes() == 1;
  return reduces_in_switch ? kInNetworkSms : kChannelSms;
}

double compute_slowdown(int held, int all) {
  return static_cast<double>(all) / std::max(1, all - held);
}

}  // namespace orrery
