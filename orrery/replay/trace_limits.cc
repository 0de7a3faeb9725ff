#include "orrery/replay/trace_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "orrery/replay/traced_op.h"

namespace orrery {
namespace {

bool has_flops(const TraceNode& n) {
  return n.kind == TraceNode::Kind::kGpu && n.op > 0 &&
         (n.is == OpClass::kGemm || n.is == OpClass::kAttention);
}

FlopsPerSecond peak_of(const Op& op, const Gpu& gpu) {
  const Dtype dtype = gpu.compute_dtype(arithmetic(op));
  const FlopsPerSecond peak = gpu.peak(dtype);
  return dtype == Dtype::kFp32 && gpu.supports(Dtype::kTf32)
             ? std::max(peak, gpu.peak(Dtype::kTf32))
             : peak;
}

}  // namespace

std::string TraceLimits::note(const std::string& gpu) const {
  return fmt::format(
      "{} kernels ({:.0f} % of the time of all) are faster than the peak of {}, {} by {:.1f} "
      "times: "
      "the trace is of another GPU, or they did less than their recorded shapes say. The interval "
      "is "
      "wider.",
      kernels, 100 * share, gpu, worst, most);
}

TraceLimits trace_limits(const KinetoTrace& t, const TraceGraph& g, const Gpu& gpu) {
  TraceLimits out;
  out.excess.assign(g.nodes.size(), 1);
  std::map<std::uint32_t, Nanoseconds> of_op;  // time of the kernels of a cpu_op
  Nanoseconds all{0}, above{0};
  for (const TraceNode& n : g.nodes) {
    if (n.kind == TraceNode::Kind::kGpu) all += n.duration;
    if (has_flops(n)) of_op[n.op] += n.duration;
  }
  std::map<std::uint32_t, double> excess_of;
  for (const auto& [index, time] : of_op) {
    const KinetoEvent& e = t.events[index - 1];
    const auto op = traced_op(t.name_of(e), t.detail_of(e));
    if (!op || time <= Nanoseconds(0)) continue;
    const Seconds least = flops(*op) / peak_of(*op, gpu);
    const double excess = least / Seconds(static_cast<double>(time.count()) * 1e-9);
    if (excess <= kMostOfPeak) continue;
    excess_of[index] = excess;
    if (excess > out.most) out.most = excess, out.worst = t.name_of(e);
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const TraceNode& n = g.nodes[i];
    if (!has_flops(n)) continue;
    const auto found = excess_of.find(n.op);
    if (found == excess_of.end()) continue;
    out.excess[i] = found->second;
    above += n.duration;
    ++out.kernels;
  }
  if (all > Nanoseconds(0))
    out.share = static_cast<double>(above.count()) / static_cast<double>(all.count());
  return out;
}

}  // namespace orrery
