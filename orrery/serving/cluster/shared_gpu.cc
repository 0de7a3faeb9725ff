#include "orrery/serving/cluster/shared_gpu.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Share of a tenant's run in which a step is under way, 0 to 1.
double busy(const SimulationResult& r) {
  const double whole = r.end.seconds() * static_cast<double>(r.replicas.size());
  return whole > 0 ? std::min(1.0, r.total().busy.value() / whole) : 0;
}

}  // namespace

double interference(Sharing sharing, const GpuDemand& a, const GpuDemand& b) {
  if (sharing == Sharing::kTimeSlicing) return 2;
  return std::clamp(std::max(a.compute + b.compute, a.memory + b.memory), 1.0, 2.0);
}

SharedGpu share_gpu(Sharing sharing, std::span<const Tenant> tenants) {
  constexpr int kMostRounds = 30;
  constexpr double kClose = 1e-3;
  SharedGpu out;
  out.stretch.assign(tenants.size(), 1);
  for (int round = 0; round < kMostRounds; ++round) {
    out.results.clear();
    for (std::size_t i = 0; i < tenants.size(); ++i)
      out.results.push_back(tenants[i].run(out.stretch[i]));
    std::vector<double> next(tenants.size(), 1);
    double change = 0;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      for (std::size_t j = 0; j < tenants.size(); ++j) {
        if (j == i) continue;
        next[i] += busy(out.results[j]) *
                   (interference(sharing, tenants[i].demand, tenants[j].demand) - 1);
      }
      change = std::max(change, std::abs(next[i] - out.stretch[i]));
    }
    if (change < kClose) break;
    out.stretch = next;
  }
  return out;
}

}  // namespace orrery
