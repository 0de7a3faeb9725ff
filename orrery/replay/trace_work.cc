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

// Fills a window with the calls of its threads and the work of its streams.
class WindowReader {
 public:
  WindowReader(const KinetoTrace& t, TracedWindow& w) : t_(t), w_(w) {
    for (const std::string& n : t.names) {
      kinds_.push_back(call_kind(n));
      graphs_.push_back(n.find("GraphLaunch") != n.npos);
      optimizers_.push_back(n.starts_with("Optimizer.step"));
    }
    for (std::uint32_t i = 0; i < t.events.size(); ++i) {
      const KinetoEvent& e = t.events[i];
      if (e.on_gpu() && e.correlation >= 0) gpu_.emplace_back(e.correlation, i);
    }
    std::sort(gpu_.begin(), gpu_.end());
  }

  void read() {
    read_calls();
    trim_overlaps();
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    read_work();
  }

 private:
  // The calls of threads, and the cpu_ops and annotations that enclose them.
  void read_calls() {
    std::vector<std::vector<Open>> open(t_.lanes.size());
    for (std::uint32_t i = 0; i < t_.events.size(); ++i) {
      const KinetoEvent& e = t_.events[i];
      if (e.on_gpu() || e.kind == EventKind::kSync) continue;
      std::vector<Open>& stack = open[e.lane];
      while (!stack.empty() && stack.back().end <= e.start) stack.pop_back();
      const Open around = stack.empty() ? Open{} : stack.back();
      if (e.kind != EventKind::kCall) {
        const bool shaped = e.detail != 0 && !t_.detail_of(e).shapes.empty();
        if (shaped || optimizers_[e.name])
          stack.push_back(
              {e.end(), shaped ? i + 1 : around.op, around.in_optimizer || optimizers_[e.name]});
        continue;
      }
      const auto range = range_of(gpu_, e.correlation);
      const auto count = e.correlation < 0 ? 0 : range.second - range.first;
      if (count == 0 && kinds_[e.name] == CallKind::kOther) continue;
      const bool inside = !w_.marked || (e.start >= w_.begin && e.start < w_.end);
      if (count > 0) {
        launches_.emplace_back(e.correlation, inside ? static_cast<std::uint32_t>(w_.calls.size())
                                              : e.start < w_.begin ? kBefore
                                                                   : kAfter);
      }
      if (!inside) continue;
      TracedCall c;
      c.event = i, c.lane = e.lane, c.op = around.op, c.kind = kinds_[e.name];
      c.launched = static_cast<std::uint32_t>(count);
      c.in_optimizer = around.in_optimizer, c.graph = graphs_[e.name];
      c.start = e.start - w_.begin, c.end = std::max(e.end(), e.start + Nanoseconds(1)) - w_.begin;
      w_.calls_of[e.lane].push_back(static_cast<std::uint32_t>(w_.calls.size()));
      w_.calls.push_back(c);
    }
  }

  // Calls of one thread follow or enclose each other. Any other overlap is rounding.
  void trim_overlaps() {
    for (const auto& calls : w_.calls_of) {
      for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
        TracedCall& a = w_.calls[calls[i]];
        const TracedCall& b = w_.calls[calls[i + 1]];
        if (b.start < a.end && b.end > a.end) a.end = std::max(b.start, a.start + Nanoseconds(1));
      }
    }
  }

  void read_work() {
    for (std::uint32_t i = 0; i < t_.events.size(); ++i) {
      const KinetoEvent& e = t_.events[i];
      if (!e.on_gpu() || (w_.marked && e.end() <= w_.begin)) continue;
      TracedWork k;
      const auto range = range_of(launches_, e.correlation);
      const bool known = e.correlation >= 0 && range.first != range.second;
      if (known) k.call = range.first->second;
      if (k.call == kAfter || (!known && w_.marked && e.start >= w_.end)) continue;
      const bool early = known ? k.call == kBefore : e.start < w_.begin;
      k.event = i, k.lane = e.lane;
      k.start = std::max(e.start - w_.begin, Nanoseconds(0)), k.end = e.end() - w_.begin;
      auto& lane = w_.work_of[e.lane];
      if (!lane.empty()) k.previous = lane.back();
      if (k.call == kNone) {
        if (early) w_.carried = std::min(w_.carried + k.end - k.start, kEndOfTime);
        if (!known) ++w_.orphans;
        k.launched = early ? Nanoseconds(-1) : k.start;
      } else {
        k.launched = w_.calls[k.call].start;
      }
      if (k.previous != kNone) k.launched = std::max(k.launched, w_.work[k.previous].launched);
      lane.push_back(static_cast<std::uint32_t>(w_.work.size()));
      w_.work.push_back(k);
    }
  }

  const KinetoTrace& t_;
  TracedWindow& w_;
  std::vector<CallKind> kinds_;  // of names
  std::vector<bool> graphs_, optimizers_;
  ByCorrelation gpu_;       // indices of events
  ByCorrelation launches_;  // indices of calls, kBefore or kAfter
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
  WindowReader(t, w).read();
  if (w.work.empty()) {
    throw InputError(fmt::format(
        "{}: no work of a GPU {}: was it recorded with ProfilerActivity.CUDA?",
        shortened(name, 200), w.marked ? "in the steps that the trace marks" : "in the trace"));
  }
  return w;
}

}  // namespace orrery
