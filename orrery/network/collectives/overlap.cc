#include "orrery/network/collectives/overlap.h"

#include <algorithm>

#include "orrery/network/algorithms/nccl_tables.h"
#include "orrery/network/collectives/nccl_graph.h"

namespace orrery {
namespace {

constexpr int kChannelSms = 24, kNvlsSms = 16;

}  // namespace

int library_sms(const Gpu& gpu, bool nvls_kernel) {
  if (gpu.vendor != "nvidia") return 0;
  return nvls_kernel ? kNvlsSms : kChannelSms;
}

BytesPerSecond library_rate(const Bundle& bundle, const Gpu& gpu, bool nvls_kernel) {
  const NcclTables& tables = nccl_tables(bundle);
  const auto generation = static_cast<std::size_t>(gpu.architecture.nccl);
  const double channel = nvls_kernel ? tables.nvls_tree[generation][1] : tables.tree[generation][0];
  return BytesPerSecond(channel * 1e9 * library_sms(gpu, nvls_kernel));
}

double compute_slowdown(int held, int all) {
  return static_cast<double>(all) / std::max(1, all - held);
}

}  // namespace orrery
