#include "orrery/replay/trace_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

using EventKind = KinetoEvent::Kind;

constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::uint32_t kBefore = kNone, kAfter = kNone - 1;  // calls outside of the window

std::optional<std::int64_t> step_number(std::string_view name) {
  if (!name.starts_with(kStep)) return {};
  std::int64_t n = 0;
  const auto r = std::from_chars(name.data() + kStep.size(), name.data() + name.size(), n);
  if (r.ec != std::errc() || r.ptr != name.data() + name.size() || n < 0) return {};
  return n;
}

// The window of the steps, or of the whole trace.
void find_window(const KinetoTrace& t, const std::string& name, std::optional<std::int64_t> step,
                 TracedWindow& w) {
  std::optional<std::int64_t> least, most;
  for (const KinetoEvent& e : t.events) {
    if (e.kind != EventKind::kAnnotation) continue;
    const auto n = step_number(t.name_of(e));
    if (!n) continue;
    least = std::min(least.value_or(*n), *n), most = std::max(most.value_or(*n), *n);
    if (step && *n != *step) continue;
    if (!w.marked) w.begin = e.start, w.first_step = *n, w.steps = 0, w.main_lane = e.lane;
    w.marked = true;
    w.begin = std::min(w.begin, e.start), w.end = std::max(w.end, e.end());
    w.first_step = std::min(w.first_step, *n);
    if (e.lane == w.main_lane) ++w.steps;
  }
  w.main_end = w.end;
  if (w.marked) return;
  if (step) {
    throw InputError(fmt::format(
        "{}: no {}{}: {}", shortened(name, 200), kStep, *step,
        least ? fmt::format("the trace has {} to {}", *least, *most)
              : "the trace marks no steps (torch.profiler.profile's step() was not called)"));
  }
  bool first = true;
  for (const KinetoEvent& e : t.events) {
    if (first) w.begin = e.start, w.end = e.end(), first = false;
    w.end = std::max(w.end, e.end());
    if (!e.on_gpu() && (w.main_lane == kNone || e.end() > w.main_end))
      w.main_lane = e.lane, w.main_end = e.end();
  }
}

// Pairs of a correlation and an index, sorted for searching.
using ByCorrelation = std::vector<std::pair<std::int64_t, std::uint32_t>>;

auto range_of(const ByCorrelation& all, std::int64_t correlation) {
  return std::equal_range(all.begin(), all.end(), std::pair(correlation, std::uint32_t{0}),
                          [](const auto& a, const auto& b) { return a.first < b.first; });
}

// The cpu_ops and annotations of a thread that have not ended.
struct Open {
  Nanoseconds end{0};
  std::uint32_t op = 0;  // innermost cpu_op with shapes
  bool in_optimizer = false;
};

}  // namespace

CallKind call_kind(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("DeviceSynchronize") || has("CtxSynchronize")) return CallKind::kDeviceSync;
  if (has("StreamSynchronize")) return CallKind::kStreamSync;
  if (has("EventSynchronize")) return CallKind::kEventSync;
  if (has("EventRecord")) return CallKind::kEventRecord;
  if (has("StreamWaitEvent")) return CallKind::kStreamWait;
  if (has("Memcpy")) return CallKind::kCopy;
  if (name == "cudaFree" || name == "hipFree" || name == "cudaFreeHost" || name == "hipHostFree") {
    return CallKind::kFree;
  }
  return CallKind::kOther;
}

std::uint32_t TracedWindow::first_from(std::uint32_t lane, Nanoseconds when) const {
  const auto& all = work_of[lane];
  const auto it = std::partition_point(all.begin(), all.end(),
                                       [&](std::uint32_t i) { return work[i].launched < when; });
  return it == all.end() ? kNone : *it;
}

std::uint32_t TracedWindow::last_before(std::uint32_t lane, Nanoseconds when) const {
  const auto& all = work_of[lane];
  const auto it = std::partition_point(all.begin(), all.end(),
                                       [&](std::uint32_t i) { return work[i].launched < when; });
  return it == all.begin() ? kNone : *(it - 1);
}

TracedWindow trace_window(const KinetoTrace& t, const std::string& name,
                          std::optional<std::int64_t> step) {
  TracedWindow w;
  find_window(t, name, step, w);
  w.calls_of.resize(t.lanes.size()), w.work_of.resize(t.lanes.size());

  std::vector<CallKind> kinds;
  std::vector<bool> graphs, optimizers;
  for (const std::string& n : t.names) {
    kinds.push_back(call_kind(n));
    graphs.push_back(n.find("GraphLaunch") != n.npos);
    optimizers.push_back(n.starts_with("Optimizer.step"));
  }
  ByCorrelation gpu;  // indices of events
  for (std::uint32_t i = 0; i < t.events.size(); ++i) {
    const KinetoEvent& e = t.events[i];
    if (e.on_gpu() && e.correlation >= 0) gpu.emplace_back(e.correlation, i);
  }
  std::sort(gpu.begin(), gpu.end());

  // Threads: their calls, and the cpu_ops and annotations that enclose these.
  ByCorrelation launches;  // indices of calls, kBefore or kAfter
  std::vector<std::vector<Open>> open(t.lanes.size());
  for (std::uint32_t i = 0; i < t.events.size(); ++i) {
    const KinetoEvent& e = t.events[i];
    if (e.on_gpu() || e.kind == EventKind::kSync) continue;
    std::vector<Open>& stack = open[e.lane];
    while (!stack.empty() && stack.back().end <= e.start) stack.pop_back();
    const Open around = stack.empty() ? Open{} : stack.back();
    if (e.kind != EventKind::kCall) {
      const bool shaped = e.detail != 0 && !t.detail_of(e).shapes.empty();
      if (shaped || optimizers[e.name])
        stack.push_back(
            {e.end(), shaped ? i + 1 : around.op, around.in_optimizer || optimizers[e.name]});
      continue;
    }
    const auto range = range_of(gpu, e.correlation);
    const auto count = e.correlation < 0 ? 0 : range.second - range.first;
    if (count == 0 && kinds[e.name] == CallKind::kOther) continue;
    const bool inside = !w.marked || (e.start >= w.begin && e.start < w.end);
    if (count > 0) {
      launches.emplace_back(e.correlation, inside ? static_cast<std::uint32_t>(w.calls.size())
                                           : e.start < w.begin ? kBefore
                                                               : kAfter);
    }
    if (!inside) continue;
    TracedCall c;
    c.event = i, c.lane = e.lane, c.op = around.op, c.kind = kinds[e.name];
    c.launched = static_cast<std::uint32_t>(count);
    c.in_optimizer = around.in_optimizer, c.graph = graphs[e.name];
    c.start = e.start - w.begin, c.end = std::max(e.end(), e.start + Nanoseconds(1)) - w.begin;
    w.calls_of[e.lane].push_back(static_cast<std::uint32_t>(w.calls.size()));
    w.calls.push_back(c);
  }
  // Calls of one thread follow or enclose each other. Any other overlap is rounding.
  for (const auto& calls : w.calls_of) {
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      TracedCall& a = w.calls[calls[i]];
      const TracedCall& b = w.calls[calls[i + 1]];
      if (b.start < a.end && b.end > a.end) a.end = std::max(b.start, a.start + Nanoseconds(1));
    }
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  // Streams: their work.
  for (std::uint32_t i = 0; i < t.events.size(); ++i) {
    const KinetoEvent& e = t.events[i];
    if (!e.on_gpu() || (w.marked && e.end() <= w.begin)) continue;
    TracedWork k;
    const auto range = range_of(launches, e.correlation);
    const bool known = e.correlation >= 0 && range.first != range.second;
    if (known) k.call = range.first->second;
    if (k.call == kAfter || (!known && w.marked && e.start >= w.end)) continue;
    const bool early = known ? k.call == kBefore : e.start < w.begin;
    k.event = i, k.lane = e.lane;
    k.start = std::max(e.start - w.begin, Nanoseconds(0)), k.end = e.end() - w.begin;
    auto& lane = w.work_of[e.lane];
    if (!lane.empty()) k.previous = lane.back();
    if (k.call == kNone) {
      if (early) w.carried = std::min(w.carried + k.end - k.start, kEndOfTime);
      if (!known) ++w.orphans;
      k.launched = early ? Nanoseconds(-1) : k.start;
    } else {
      k.launched = w.calls[k.call].start;
    }
    if (k.previous != kNone) k.launched = std::max(k.launched, w.work[k.previous].launched);
    lane.push_back(static_cast<std::uint32_t>(w.work.size()));
    w.work.push_back(k);
  }
  if (w.work.empty()) {
    throw InputError(fmt::format(
        "{}: no work of a GPU {}: was it recorded with ProfilerActivity.CUDA?",
        shortened(name, 200), w.marked ? "in the steps that the trace marks" : "in the trace"));
  }
  return w;
}

}  // namespace orrery
