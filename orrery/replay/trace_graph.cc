#include "orrery/replay/trace_graph.h"

#include <algorithm>
#include <tuple>

#include "orrery/replay/trace_waits.h"

namespace orrery {
namespace {

constexpr Nanoseconds kTolerance = TraceWaits::kTolerance;
constexpr Nanoseconds kNear{5'000};  // from the end of a cause to a waiting kernel
constexpr double kCovered = 0.5;     // share of a gap that a hand-over covers

class Builder {
 public:
  Builder(const KinetoTrace& t, const TracedWindow& w) : t_(t), w_(w), waits_(t, w) {}

  TraceGraph build() {
    make_nodes();
    thread_edges();
    stream_edges();
    event_edges();
    sync_edges();
    explain();
    return finish();
  }

 private:
  struct Point {  // a node on a thread
    std::uint32_t node = 0, call = 0;
    Nanoseconds at{0};
    bool is_return = false;
  };
  struct Incoming {
    std::uint32_t to = 0;
    TraceEdge edge;
  };

  // Orders the nodes so that every cause precedes its effect: by time, with returns before calls
  // before work. Work is not earlier than its launch and its predecessor, even if the clocks
  // differ.
  void make_nodes() {
    struct Key {
      Nanoseconds at{0};
      int rank = 0;
      std::uint32_t index = 0;
    };
    std::vector<Key> keys;
    keys.push_back({Nanoseconds(-1), 0, 0});
    for (std::uint32_t i = 0; i < w_.calls.size(); ++i) {
      const TracedCall& c = w_.calls[i];
      keys.push_back({c.start, 2, i});
      if (!waits_.of_call(i).work.empty()) keys.push_back({c.end, 1, i});
    }
    std::vector<Nanoseconds> at(w_.work.size());
    for (std::uint32_t i = 0; i < w_.work.size(); ++i) {
      const TracedWork& k = w_.work[i];
      at[i] = std::max(k.start, k.call == kNone ? Nanoseconds(0) : w_.calls[k.call].start);
      if (k.previous != kNone) at[i] = std::max(at[i], at[k.previous]);
      keys.push_back({at[i], 3, i});
    }
    if (w_.main_lane != kNone) keys.push_back({w_.main_end - w_.begin, 4, 0});
    std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return std::tuple(a.at, a.rank) < std::tuple(b.at, b.rank);
    });
    node_of_work_.resize(w_.work.size());
    points_.resize(t_.lanes.size());
    g_.nodes.reserve(keys.size());
    for (const Key& key : keys) {
      TraceNode n;
      n.start = std::max(key.at, Nanoseconds(0));
      const auto id = static_cast<std::uint32_t>(g_.nodes.size());
      if (key.rank == 3) {
        const TracedWork& k = w_.work[key.index];
        n.kind = TraceNode::Kind::kGpu;
        n.start = k.start, n.duration = k.end - k.start;
        n.event = k.event, n.lane = k.lane;
        if (k.call != kNone) n.op = w_.calls[k.call].op;
        n.is = class_of(k);
        node_of_work_[key.index] = id;
      } else if (key.rank == 1 || key.rank == 2) {
        const TracedCall& c = w_.calls[key.index];
        n.kind = key.rank == 1 ? TraceNode::Kind::kReturn : TraceNode::Kind::kCall;
        n.event = c.event, n.lane = c.lane;
        points_[c.lane].push_back({id, key.index, n.start, key.rank == 1});
      } else if (key.rank == 4) {
        n.kind = TraceNode::Kind::kMark;
        n.lane = w_.main_lane;
        points_[w_.main_lane].push_back({id, kNone, n.start, false});
      } else {
        n.kind = TraceNode::Kind::kMark;
      }
      g_.nodes.push_back(n);
    }
  }

  OpClass class_of(const TracedWork& k) const {
    const KinetoEvent& e = t_.events[k.event];
    const bool in_optimizer = k.call != kNone && w_.calls[k.call].in_optimizer;
    if (e.kind != KinetoEvent::Kind::kKernel)
      return in_optimizer && e.kind == KinetoEvent::Kind::kMemset ? OpClass::kOptimizer
                                                                  : OpClass::kCopy;
    return class_of_kernel(t_.name_of(e), in_optimizer);
  }

  void edge(std::uint32_t from, std::uint32_t to, TraceEdge::Kind kind, Nanoseconds lag) {
    if (from < to) incoming_.push_back({to, {from, kind, lag}});
  }

  void thread_edges() {
    std::vector<bool> handed(g_.nodes.size());
    using Kind = TraceEdge::Kind;
    for (const auto& points : points_) {
      for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        const Point &a = points[i], &b = points[i + 1];
        if (b.is_return || b.at - a.at < TraceWaits::kHandOver) continue;
        const auto [first, last] = busiest(a, b);
        if (first == nullptr) continue;
        edge(a.node, first->node, Kind::kCpu, first->at - a.at);
        edge(last->node, b.node, Kind::kCpu, b.at - last->at);
        handed[first->node] = handed[b.node] = true;
        ++g_.hand_overs;
      }
    }
    for (const auto& points : points_) {
      Point before;  // the beginning of the window
      for (const Point& p : points) {
        Nanoseconds lag = handed[p.node] ? Nanoseconds(0) : p.at - before.at;
        if (p.is_return && waits_.of_call(p.call).blocked)
          lag = std::min(lag, waits_.own_cost(p.call));
        edge(before.node, p.node, Kind::kCpu, lag);
        before = p;
      }
    }
  }

  // The first and the last call of the thread that worked most of the time between two points of
  // another thread, if that thread began and ended in between; otherwise nothing.
  std::pair<const Point*, const Point*> busiest(const Point& a, const Point& b) const {
    std::pair<const Point*, const Point*> found{nullptr, nullptr};
    double most = kCovered * static_cast<double>((b.at - a.at).count());
    for (const auto& points : points_) {
      const auto by_node = [](const Point& p, std::uint32_t node) { return p.node < node; };
      auto first = std::lower_bound(points.begin(), points.end(), a.node + 1, by_node);
      const auto end = std::lower_bound(first, points.end(), b.node, by_node);
      if (first == end || first->is_return || (end != points.end() && end->is_return)) continue;
      const auto last = end - 1;
      const auto covered = static_cast<double>((last->at - first->at).count());
      if (covered >= most) most = covered, found = {&*first, &*last};
    }
    return found;
  }

  void stream_edges() {
    using Kind = TraceEdge::Kind;
    for (std::uint32_t i = 0; i < w_.work.size(); ++i) {
      const TracedWork& k = w_.work[i];
      if (k.previous != kNone) {
        const TracedWork& p = w_.work[k.previous];
        // Work that began before the end of its predecessor (graphs, programmatic launches) may do
        // so in a
        // replay.
        const Nanoseconds lag =
            k.start < p.end ? std::max(k.start - p.end, p.start - p.end) : waits_.gap(k.lane);
        edge(node_of_work_[k.previous], node_of_work_[i], Kind::kStream, lag);
      }
      if (k.call == kNone) continue;
      const Nanoseconds delay = k.start - w_.calls[k.call].start;
      edge(node_of_call(k.call), node_of_work_[i], Kind::kLaunch,
           std::max(std::min(delay, waits_.launch_lag(k)), Nanoseconds(0)));
    }
  }

  std::uint32_t node_of_call(std::uint32_t call) const {
    const auto& points = points_[w_.calls[call].lane];
    const auto it = std::partition_point(
        points.begin(), points.end(), [&](const Point& p) { return p.at < w_.calls[call].start; });
    for (auto p = it; p != points.end(); ++p) {
      if (p->call == call && !p->is_return) return p->node;
    }
    return 0;
  }

  bool wait_edge(std::uint32_t from, std::uint32_t to) {
    if (from == kNone || to == kNone || w_.work[from].lane == w_.work[to].lane) return false;
    const Nanoseconds slack = w_.work[to].start - w_.work[from].end;
    if (slack < -kTolerance) return false;
    edge(node_of_work_[from], node_of_work_[to], TraceEdge::Kind::kEvent,
         std::min(std::max(slack, Nanoseconds(0)), waits_.gap(w_.work[to].lane)));
    return true;
  }

  void event_edges() {
    for (const auto& calls : w_.calls_of) {
      std::uint32_t launch = kNone, at_record = kNone;  // last launch; last one before a record
      Nanoseconds record{0};
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const TracedCall& c = w_.calls[calls[i]];
        if (c.launched > 0) launch = calls[i];
        if (c.kind == CallKind::kEventRecord) at_record = launch, record = c.start;
        if (c.kind != CallKind::kStreamWait) continue;
        if (const KinetoWait* known = waits_.recorded(c); known && known->stream >= 0) {
          g_.recorded_waits += recorded_wait(c, *known);
        } else {
          g_.ordered_waits += ordered_wait(calls, i, at_record, record);
        }
      }
    }
  }

  bool recorded_wait(const TracedCall& c, const KinetoWait& known) {
    const std::uint32_t to_lane = waits_.stream_lane(known.device, known.stream),
                        from_lane = waits_.stream_lane(known.device, known.source);
    if (to_lane == kNone || from_lane == kNone) return false;
    const Nanoseconds record = waits_.record_time(known.record, c.start);
    return wait_edge(w_.last_before(from_lane, record), w_.first_from(to_lane, c.start));
  }

  // The stream of the thread's next launch waits. It waits for the last work of the stream to which
  // the last launch before the last cudaEventRecord went. If that work had not ended, it waits for
  // the work of another stream that ended last before.
  bool ordered_wait(const std::vector<std::uint32_t>& calls, std::size_t i, std::uint32_t at_record,
                    Nanoseconds record) {
    const TracedCall& c = w_.calls[calls[i]];
    std::uint32_t to = kNone;
    for (std::size_t next = i + 1; next < calls.size() && to == kNone; ++next)
      to = waits_.first_work(calls[next]);
    if (to == kNone) return false;
    const TracedWork& waiting = w_.work[to];
    if (at_record != kNone && waits_.first_work(at_record) != kNone) {
      const std::uint32_t lane = w_.work[waits_.first_work(at_record)].lane;
      if (lane != waiting.lane && wait_edge(w_.last_before(lane, record), to)) return true;
    }
    std::uint32_t latest = kNone;
    for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane) {
      if (lane == waiting.lane) continue;
      const std::uint32_t k =
          waits_.ended_before(waiting, lane, c.start, waiting.start + kTolerance);
      if (k != kNone && (latest == kNone || w_.work[k].end > w_.work[latest].end)) latest = k;
    }
    return wait_edge(latest, to);
  }

  void sync_edges() {
    for (const auto& points : points_) {
      for (const Point& p : points) {
        if (!p.is_return) continue;
        const TraceWaits::Wait& wait = waits_.of_call(p.call);
        for (std::uint32_t k : wait.work)
          edge(node_of_work_[k], p.node, TraceEdge::Kind::kSync, wait.lag);
        if (wait.blocked && w_.calls[p.call].kind == CallKind::kOther) ++g_.full_queue;
      }
    }
  }

  // Finds a cause for work that began later than its causes explain: work of another stream that
  // ended just then, or nothing.
  void explain() {
    std::vector<Nanoseconds> release(g_.nodes.size(), Nanoseconds(0));
    for (const Incoming& in : incoming_) {
      release[in.to] = std::max(release[in.to], g_.nodes[in.edge.from].end() + in.edge.lag);
    }
    for (std::uint32_t i = 0; i < w_.work.size(); ++i) {
      const TracedWork& k = w_.work[i];
      TraceNode& n = g_.nodes[node_of_work_[i]];
      const Nanoseconds late = k.start - release[node_of_work_[i]];
      if (late <= TraceWaits::kUnexplained) continue;
      std::uint32_t latest = kNone;
      for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane) {
        if (lane == k.lane) continue;
        const std::uint32_t other = waits_.ended_before(k, lane, k.start, k.start + kTolerance / 2);
        if (other == kNone || w_.work[other].end < k.start - kNear) continue;
        if (latest == kNone || w_.work[other].end > w_.work[latest].end) latest = other;
      }
      if (latest != kNone && wait_edge(latest, i)) {
        ++g_.inferred_waits;
        continue;
      }
      n.unexplained = late;
      g_.unexplained = std::min(g_.unexplained + late, kEndOfTime);
    }
  }

  TraceGraph finish() {
    std::sort(incoming_.begin(), incoming_.end(), [](const Incoming& a, const Incoming& b) {
      return std::tuple(a.to, a.edge.from, b.edge.lag, a.edge.kind) <
             std::tuple(b.to, b.edge.from, a.edge.lag, b.edge.kind);
    });
    std::uint32_t node = 0;
    for (const Incoming& in : incoming_) {
      for (; node <= in.to; ++node)
        g_.nodes[node].first_edge = static_cast<std::uint32_t>(g_.edges.size());
      g_.edges.push_back(in.edge);
    }
    for (; node < g_.nodes.size(); ++node)
      g_.nodes[node].first_edge = static_cast<std::uint32_t>(g_.edges.size());
    for (const TraceNode& n : g_.nodes) g_.measured = std::max(g_.measured, n.end());
    g_.first_step = w_.first_step, g_.steps = std::max<std::int64_t>(w_.steps, 1);
    g_.marked = w_.marked, g_.orphans = w_.orphans, g_.carried = w_.carried;
    return std::move(g_);
  }

  const KinetoTrace& t_;
  const TracedWindow& w_;
  const TraceWaits waits_;
  TraceGraph g_;
  std::vector<std::uint32_t> node_of_work_;
  std::vector<std::vector<Point>> points_;  // by lane
  std::vector<Incoming> incoming_;
};

}  // namespace

TraceGraph build_trace_graph(const KinetoTrace& trace, const std::string& name,
                             std::optional<std::int64_t> step) {
  const TracedWindow window = trace_window(trace, name, step);
  return Builder(trace, window).build();
}

}  // namespace orrery
