#include "orrery/edge/small/small_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"

namespace orrery {
namespace {

constexpr const char* kSmallRuntime = "tflite";

std::string misfit_of(const SmallProcessor& p, std::int64_t weights, std::int64_t tensors) {
  const auto more = [&](const char* what, std::int64_t needed, const std::optional<Bytes>& of) {
    if (!of || double(needed) <= of->value()) return std::string();
    return fmt::format("{}: {} of {:.0f} KiB do not fit into {:.0f} KiB", p.id, what,
                       double(needed) / 1024, of->value() / 1024);
  };
  const std::string flash = more("weights", weights, p.flash);
  return flash.empty() ? more("tensors of a kernel", tensors, p.ram) : flash;
}

}  // namespace

SmallAnswer answer_small(const SmallLaw& law, const SmallProcessor& p, const EdgeGraph& graph) {
  if (const std::string unknown = unknown_ops_note(graph); !unknown.empty())
    throw NoData(fmt::format("{}: {} on {}", graph.name, unknown, p.id));
  if (graph.macs() == 0)
    throw NoData(fmt::format("{}: it has no multiply-adds, by which alone times on {} are known",
                             graph.name, p.id));
  SmallAnswer a;
  a.network.macs = graph.macs(), a.network.weights = graph.weights();
  std::int64_t tensors = 0;
  for (EdgeKernel& k : fuse(graph, fusion_rules(kSmallRuntime))) {
    tensors = std::max(tensors, k.in_elements + k.out_elements);
    a.network.kernels.push_back({std::move(k), Seconds(0)});
  }
  SmallWork sum{};
  Seconds kernels;
  for (EdgeAnswer::Kernel& k : a.network.kernels) {
    const SmallWork work = small_work_of({&k.kernel, 1});
    for (std::size_t i = 0; i < kSmallWorkKinds; ++i) sum[i] += work[i];
    k.time = law.time(work, p).value;
    kernels += k.time;
  }
  a.network.latency = law.time(sum, p);
  for (EdgeAnswer::Kernel& k : a.network.kernels) k.time *= a.network.latency.value / kernels;
  a.energy = law.energy(a.network.latency, p);
  a.misfit = misfit_of(p, graph.weights(), tensors);
  a.network.notes.push_back(
      fmt::format("{} at {:.4g} MHz, by cycles of a multiply-add in MLPerf tiny; facts: {}",
                  p.core.name, p.clock.value() / 1e6, p.source));
  if (a.energy)
    a.network.notes.push_back("energy: the board's power in its measured runs, times the time");
  else
    a.network.notes.push_back("the power of this board was not measured: no energy");
  return a;
}

}  // namespace orrery
