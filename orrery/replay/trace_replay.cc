#include "orrery/replay/trace_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/index.h"

namespace orrery {
namespace {

Nanoseconds scaled(Nanoseconds t, double factor) {
  if (factor == 1) return t;
  const double ns = static_cast<double>(t.count()) * factor;
  return ns < static_cast<double>(kEndOfTime.count()) ? Nanoseconds(std::llround(ns)) : kEndOfTime;
}

Nanoseconds lag_of(const TraceEdge& e, double cpu) {
  return e.kind == TraceEdge::Kind::kCpu ? scaled(e.lag, cpu) : e.lag;
}

Seconds seconds_of(Nanoseconds t) { return Seconds(static_cast<double>(t.count()) * 1e-9); }

// The time in which a class ran alone, for each class, and the time in which nothing ran.
void expose(const TraceGraph& g, const ReplayedTrace& r, std::array<Nanoseconds, kOpClasses>& alone,
            Nanoseconds& idle) {
  struct Turn {
    Nanoseconds at{0};
    std::int32_t is = 0, change = 0;
  };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (g.nodes[i].kind != TraceNode::Kind::kGpu || r.end[i] == r.start[i]) continue;
    const auto is = static_cast<std::int32_t>(g.nodes[i].is);
    turns.push_back({r.start[i], is, 1});
    turns.push_back({r.end[i], is, -1});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
  std::array<std::int64_t, kOpClasses> running{};
  Nanoseconds now{0};
  for (const Turn& turn : turns) {
    std::size_t classes = 0, which = 0;
    for (std::size_t c = 0; c < kOpClasses; ++c) {
      if (running[c] > 0) ++classes, which = c;
    }
    if (classes == 0) idle += turn.at - now;
    if (classes == 1) alone[which] += turn.at - now;
    now = turn.at;
    running[index(turn.is)] += turn.change;
  }
  idle += r.total - now;
}

}  // namespace

ReplayedTrace replay_trace(const TraceGraph& g, std::span<const double> factors, double cpu) {
  ReplayedTrace r;
  const std::size_t count = g.nodes.size();
  r.start.resize(count), r.end.resize(count), r.cause.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const TraceNode& n = g.nodes[i];
    r.cause[i] = static_cast<std::uint32_t>(i);
    Nanoseconds start{0};
    bool any = false;
    for (std::uint32_t e = n.first_edge; e < g.edges_end(i); ++e) {
      const Nanoseconds free = r.end[g.edges[e].from] + lag_of(g.edges[e], cpu);
      if (any && free <= start) continue;
      if (free > start || !any) r.cause[i] = g.edges[e].from;
      start = std::max(start, free);
      any = true;
    }
    r.start[i] = std::min(start + n.unexplained, kEndOfTime);
    r.end[i] = std::min(
        r.start[i] + (factors.empty() ? n.duration : scaled(n.duration, factors[i])), kEndOfTime);
    if (r.end[i] > r.total) r.total = r.end[i], r.last = static_cast<std::uint32_t>(i);
  }
  return r;
}

ReplayBreakdown break_down(const KinetoTrace& t, const TraceGraph& g, const ReplayedTrace& r,
                           double cpu) {
  ReplayBreakdown b;
  const double per = 1.0 / static_cast<double>(g.steps);
  b.total = seconds_of(r.total) * per;
  std::vector<ReplayBreakdown::Stream> streams(t.lanes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const TraceNode& n = g.nodes[i];
    if (n.kind != TraceNode::Kind::kGpu) continue;
    const Seconds busy = seconds_of(r.end[i] - r.start[i]) * per;
    auto& c = b.classes[index(n.is)];
    c.busy += busy, c.kernels += 1;
    streams[n.lane].busy += busy, streams[n.lane].kernels += 1;
  }
  for (auto& c : b.classes) c.kernels *= per;
  for (std::size_t lane = 0; lane < streams.size(); ++lane) {
    if (streams[lane].kernels == 0) continue;
    streams[lane].kernels *= per;
    streams[lane].name =
        fmt::format("device {}, stream {}", t.lanes[lane].process, t.lanes[lane].thread);
    b.streams.push_back(streams[lane]);
  }
  std::stable_sort(b.streams.begin(), b.streams.end(),
                   [](const auto& x, const auto& y) { return x.busy > y.busy; });
  std::array<Nanoseconds, kOpClasses> alone{};
  Nanoseconds idle{0};
  expose(g, r, alone, idle);
  b.idle = seconds_of(idle) * per;
  for (std::size_t c = 0; c < kOpClasses; ++c) b.classes[c].exposed = seconds_of(alone[c]) * per;

  // Goes back along the causes. If a node begins before the end of its cause (work that overlaps
  // with its predecessor), the overlap is subtracted from the time of the cause.
  for (std::uint32_t i = r.last;; i = r.cause[i]) {
    const TraceNode& n = g.nodes[i];
    if (n.kind == TraceNode::Kind::kGpu) {
      b.classes[index(n.is)].critical += seconds_of(r.end[i] - r.start[i]) * per;
    }
    b.unexplained += seconds_of(n.unexplained) * per;
    const std::uint32_t from = r.cause[i];
    if (from == i) break;
    const Nanoseconds between = r.start[i] - n.unexplained - r.end[from];
    bool of_thread = false;
    for (std::uint32_t e = n.first_edge; e < g.edges_end(i); ++e) {
      of_thread |= g.edges[e].from == from && g.edges[e].kind == TraceEdge::Kind::kCpu &&
                   lag_of(g.edges[e], cpu) == between;
    }
    const Seconds gap = seconds_of(between) * per;
    if (of_thread) {
      b.cpu += gap;
    } else if (between < Nanoseconds(0) && g.nodes[from].kind == TraceNode::Kind::kGpu) {
      b.classes[index(g.nodes[from].is)].critical += gap;
    } else {
      b.lags += gap;
    }
  }
  return b;
}

std::string replay_timeline(const KinetoTrace& t, const TraceGraph& g, const ReplayedTrace& r) {
  using Json = nlohmann::ordered_json;
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (std::size_t lane = 0; lane < t.lanes.size(); ++lane) {
    const KinetoLane& l = t.lanes[lane];
    const int process = l.gpu ? 1 : 0;
    out += Json{{"ph", "M"},
                {"pid", process},
                {"tid", lane},
                {"name", "thread_name"},
                {"args", {{"name", (l.gpu ? "stream " : "thread ") + l.thread}}}}
               .dump() +
           ",\n";
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const TraceNode& n = g.nodes[i];
    const bool gpu = n.kind == TraceNode::Kind::kGpu;
    if (!gpu && n.kind != TraceNode::Kind::kCall) continue;
    out += fmt::format(
        "{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}, \"cat\": "
        "\"{}\", \"name\": {}}},\n",
        gpu ? 1 : 0, n.lane, static_cast<double>(r.start[i].count()) / 1e3,
        static_cast<double>((r.end[i] - r.start[i]).count()) / 1e3, gpu ? to_text(n.is) : "call",
        Json(t.name_of(t.events[n.event])).dump());
  }
  out +=
      "{\"ph\": \"M\", \"pid\": 0, \"name\": \"process_name\", \"args\": {\"name\": \"host\"}},\n"
      "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"GPU\"}}\n"
      "]}\n";
  return out;
}

}  // namespace orrery
