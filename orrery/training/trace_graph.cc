#include "orrery/training/trace_graph.h"

#include <algorithm>
#include <array>
#include <map>

#include "orrery/training/trace_work.h"

namespace orrery {
namespace {

constexpr Nanoseconds kTolerance{2'000};     // clocks of host and GPU, and rounding
constexpr Nanoseconds kUnexplained{10'000};  // a wait longer than this wants a reason
constexpr Nanoseconds kNear{5'000};          // how long after its cause a waiting kernel begins
constexpr Nanoseconds kOwnCost{5'000};       // of a synchronisation that does not wait
constexpr Nanoseconds kHandOver{50'000};     // a shorter gap of a thread is its own work
constexpr double kCovered = 0.5;       // of a gap, by another thread, for it to be a hand-over
constexpr std::uint32_t kQueue = 256;  // launches ahead of the GPU that can fill its queue (1,024
                                       // entries; a launch may take several)

// The value that a share of all are below.
Nanoseconds quantile(std::vector<Nanoseconds>& values, double share, Nanoseconds otherwise) {
  if (values.empty()) return otherwise;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
Nanoseconds median(std::vector<Nanoseconds>& values, Nanoseconds otherwise) {
  return quantile(values, 0.5, otherwise);
}

class Builder {
 public:
  Builder(const KinetoTrace& t, const TracedWindow& w) : t_(t), w_(w) {}

  TraceGraph build() {
    measure_lags();
    find_waits();
    make_nodes();
    thread_edges();
    stream_edges();
    event_edges();
    sync_edges();
    explain();
    return finish();
  }

 private:
  // A call that waited, or could have.
  struct Wait {
    std::vector<std::uint32_t> work;
    bool blocked = false;
    Nanoseconds lag{0};  // from the end of the last work to the call's return
  };
  struct Point {  // of a thread
    std::uint32_t node = 0, call = 0;
    Nanoseconds at{0};
    bool is_return = false;
  };
  struct Incoming {
    std::uint32_t to = 0;
    TraceEdge edge;
  };

  std::uint32_t kind_of_launch(const TracedWork& k) const {
    const bool graph = k.call != kNone && w_.calls[k.call].graph;
    return graph ? 2 : t_.events[k.event].kind == KinetoEvent::Kind::kKernel ? 0 : 1;
  }

  // The lags that all launches and all kernels of a stream share.
  void measure_lags() {
    // Launches whose stream was told to wait say nothing of launches.
    std::vector<bool> told(w_.calls.size());
    for (const auto& calls : w_.calls_of) {
      bool waiting = false;
      for (std::uint32_t c : calls) {
        waiting |= w_.calls[c].kind == CallKind::kStreamWait;
        told[c] = waiting;
        if (w_.calls[c].launched > 0) waiting = false;
      }
    }
    std::array<std::vector<Nanoseconds>, 3> idle, all;
    for (const TracedWork& k : w_.work) {
      if (k.call == kNone) continue;
      const TracedCall& c = w_.calls[k.call];
      const auto kind = kind_of_launch(k);
      const Nanoseconds delay = k.start - c.start;
      if (delay < Nanoseconds(0)) continue;
      all[kind].push_back(delay);
      const bool was_idle = k.previous == kNone || w_.work[k.previous].end < c.start;
      if (was_idle && !told[k.call] && delay < Nanoseconds(200'000)) idle[kind].push_back(delay);
    }
    for (std::size_t kind = 0; kind < launch_.size(); ++kind) {
      Nanoseconds least(5'000);  // nothing waited for its launch: any small lag will do
      for (Nanoseconds d : all[kind]) least = std::min(least, d);
      launch_[kind] = median(idle[kind], least);
      // A lag that most launches undercut is that of something else.
      launch_[kind] = std::min(launch_[kind], std::max(median(all[kind], least), least));
    }
    // Sums and counts by stream, and of all of them for those where nothing queued.
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps(w_.work_of.size());
    std::pair<std::int64_t, std::int64_t> total;
    for (const TracedWork& k : w_.work) {
      if (k.call == kNone || k.previous == kNone) continue;
      const Nanoseconds queued = w_.work[k.previous].end, gap = k.start - queued;
      if (queued < w_.calls[k.call].start + launch_[kind_of_launch(k)]) continue;
      if (gap < Nanoseconds(0) || gap > kUnexplained) continue;
      gaps[k.lane].first += gap.count(), ++gaps[k.lane].second;
      total.first += gap.count(), ++total.second;
    }
    if (total.second == 0) total = {1'000, 1};
    for (const auto& [sum, count] : gaps) {
      gap_.push_back(Nanoseconds(count > 0 ? sum / count : total.first / total.second));
    }
  }

  std::uint32_t stream_lane(std::int64_t device, std::int64_t stream) const {
    const auto it = streams_.find({std::to_string(device), std::to_string(stream)});
    return it == streams_.end() ? kNone : it->second;
  }

  const KinetoWait* recorded(const TracedCall& c) const {
    const std::int64_t correlation = t_.events[c.event].correlation;
    const auto it = recorded_.find(correlation);
    return correlation < 0 || it == recorded_.end() ? nullptr : &t_.waits[it->second];
  }

  // The last work of a stream that had ended by `when`, of that given to it before `launched`.
  std::uint32_t ended_by(std::uint32_t lane, Nanoseconds launched, Nanoseconds when) const {
    const auto& all = w_.work_of[lane];
    const auto it = std::partition_point(all.begin(), all.end(), [&](std::uint32_t i) {
      return w_.work[i].launched < launched && w_.work[i].end <= when;
    });
    return it == all.begin() ? kNone : *(it - 1);
  }

  // The same, of what began before `waiting`: what it may have waited for.
  std::uint32_t ended_before(const TracedWork& waiting, std::uint32_t lane, Nanoseconds launched,
                             Nanoseconds when) const {
    std::uint32_t k = ended_by(lane, launched, when);
    while (k != kNone && w_.work[k].start >= waiting.start) k = w_.work[k].previous;
    return k;
  }

  // What each call waited for.
  void find_waits() {
    for (std::uint32_t i = 0; i < t_.lanes.size(); ++i) {
      if (t_.lanes[i].gpu) streams_.emplace(std::pair(t_.lanes[i].process, t_.lanes[i].thread), i);
    }
    for (std::uint32_t i = 0; i < t_.waits.size(); ++i)
      recorded_.emplace(t_.waits[i].correlation, i);
    for (const TracedCall& c : w_.calls) {
      if (c.kind == CallKind::kEventRecord)
        record_time_.emplace(t_.events[c.event].correlation, c.start);
    }
    std::vector<Nanoseconds> durations;
    for (const TracedCall& c : w_.calls) {
      if (c.launched > 0 && c.kind == CallKind::kOther) durations.push_back(c.end - c.start);
    }
    // Of launches most may have waited for room, but not all.
    usual_launch_ = quantile(durations, 0.1, Nanoseconds(5'000));
    waits_.resize(w_.calls.size());
    first_work_.assign(w_.calls.size(), kNone);
    for (std::uint32_t i = 0; i < w_.work.size(); ++i) {
      const std::uint32_t call = w_.work[i].call;
      if (call != kNone && first_work_[call] == kNone) first_work_[call] = i;
    }
    std::vector<Nanoseconds> lags;
    for (std::uint32_t i = 0; i < w_.calls.size(); ++i) {
      Wait& wait = waits_[i];
      wait.work = waited_for(i);
      Nanoseconds last{0};
      for (std::uint32_t k : wait.work) last = std::max(last, w_.work[k].end);
      wait.blocked = !wait.work.empty() && last > w_.calls[i].start;
      wait.lag = std::max(w_.calls[i].end - last, Nanoseconds(0));
      if (wait.blocked) lags.push_back(wait.lag);
    }
    const Nanoseconds usual = median(lags, kOwnCost);
    for (Wait& wait : waits_) {
      if (!wait.blocked) wait.lag = std::min(wait.lag, usual);
    }
  }

  std::vector<std::uint32_t> waited_for(std::uint32_t call) const {
    const TracedCall& c = w_.calls[call];
    const Nanoseconds by = c.end + kTolerance;
    std::vector<std::uint32_t> found;
    const auto add = [&](std::uint32_t k) {
      if (k != kNone && w_.work[k].end <= by) found.push_back(k);
    };
    // Of streams that are not known: the work that ended last while the call lasted.
    const auto add_latest = [&] {
      std::uint32_t latest = kNone;
      for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane) {
        const std::uint32_t k = ended_by(lane, c.start, by);
        if (k == kNone || w_.work[k].end < c.start) continue;
        if (latest == kNone || w_.work[k].end > w_.work[latest].end) latest = k;
      }
      add(latest);
    };
    const KinetoWait* known = recorded(c);
    switch (c.kind) {
      case CallKind::kDeviceSync:
        for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane)
          add(w_.last_before(lane, c.start));
        break;
      case CallKind::kStreamSync: {
        const std::uint32_t lane = known ? stream_lane(known->device, known->stream) : kNone;
        lane != kNone ? add(w_.last_before(lane, c.start)) : add_latest();
        break;
      }
      case CallKind::kEventSync: {
        const std::uint32_t lane = known ? stream_lane(known->device, known->source) : kNone;
        const auto at = known ? record_time_.find(known->record) : record_time_.end();
        lane != kNone&& at != record_time_.end() ? add(w_.last_before(lane, at->second))
                                                 : add_latest();
        break;
      }
      case CallKind::kFree:
        add_latest();
        break;
      case CallKind::kCopy: {
        const std::uint32_t own = first_work_[call];
        if (own != kNone && w_.work[own].end <= by) add(own);
        break;
      }
      case CallKind::kOther: {
        // A launch that took long while many were ahead of it: the queue was full.
        if (c.launched == 0 || c.graph || first_work_[call] == kNone) break;
        if (c.end - c.start <= std::max(10 * usual_launch_, kHandOver)) break;
        const TracedWork& own = w_.work[first_work_[call]];
        const std::uint32_t done = ended_by(own.lane, c.start, by);
        if (done == kNone || w_.work[done].end < c.start) break;
        const auto& lane = w_.work_of[own.lane];
        const auto place = [&](std::uint32_t k) {
          return std::lower_bound(lane.begin(), lane.end(), k) - lane.begin();
        };
        if (place(first_work_[call]) - place(done) >= kQueue) add(done);
        break;
      }
      case CallKind::kEventRecord:
      case CallKind::kStreamWait:
        break;
    }
    return found;
  }

  // Nodes in an order in which every cause comes before its effect: by time, returns before calls
  // before work; work no earlier than its launch and its predecessor, whatever the clocks say.
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
      if (!waits_[i].work.empty()) keys.push_back({c.end, 1, i});
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
        if (b.is_return || b.at - a.at < kHandOver) continue;
        const auto [first, last] = busiest(a, b);
        if (first == nullptr) continue;
        edge(a.node, first->node, Kind::kCpu, first->at - a.at);
        edge(last->node, b.node, Kind::kCpu, b.at - last->at);
        handed[first->node] = handed[b.node] = true;
        ++g_.hand_overs;
      }
    }
    for (const auto& points : points_) {
      Point before;  // the window's begin
      for (const Point& p : points) {
        Nanoseconds lag = handed[p.node] ? Nanoseconds(0) : p.at - before.at;
        if (p.is_return && waits_[p.call].blocked) lag = std::min(lag, own_cost(p.call));
        edge(before.node, p.node, Kind::kCpu, lag);
        before = p;
      }
    }
  }

  Nanoseconds own_cost(std::uint32_t call) const {
    return w_.calls[call].kind == CallKind::kOther ? usual_launch_ : kOwnCost;
  }

  // The first and the last call of the thread that worked most of the time between two points of
  // another one, if it began and ended in between; none otherwise.
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
        // One that began before the other's end (graphs, programmatic launches) may do so again.
        const Nanoseconds lag =
            k.start < p.end ? std::max(k.start - p.end, p.start - p.end) : gap_[k.lane];
        edge(node_of_work_[k.previous], node_of_work_[i], Kind::kStream, lag);
      }
      if (k.call == kNone) continue;
      const Nanoseconds delay = k.start - w_.calls[k.call].start;
      edge(node_of_call(k.call), node_of_work_[i], Kind::kLaunch,
           std::max(std::min(delay, launch_[kind_of_launch(k)]), Nanoseconds(0)));
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
         std::min(std::max(slack, Nanoseconds(0)), gap_[w_.work[to].lane]));
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
        if (const KinetoWait* known = recorded(c); known && known->stream >= 0) {
          g_.recorded_waits += recorded_wait(c, *known);
        } else {
          g_.ordered_waits += ordered_wait(calls, i, at_record, record);
        }
      }
    }
  }

  bool recorded_wait(const TracedCall& c, const KinetoWait& known) {
    const std::uint32_t to_lane = stream_lane(known.device, known.stream),
                        from_lane = stream_lane(known.device, known.source);
    if (to_lane == kNone || from_lane == kNone) return false;
    const auto at = record_time_.find(known.record);
    const Nanoseconds record = at == record_time_.end() ? c.start : at->second;
    return wait_edge(w_.last_before(from_lane, record), w_.first_from(to_lane, c.start));
  }

  // The stream that waits is that of the thread's next launch. It waits for the last work of the
  // stream that was launched to before the last cudaEventRecord, or if that had not ended, for the
  // work of another stream that ended last before.
  bool ordered_wait(const std::vector<std::uint32_t>& calls, std::size_t i, std::uint32_t at_record,
                    Nanoseconds record) {
    const TracedCall& c = w_.calls[calls[i]];
    std::uint32_t to = kNone;
    for (std::size_t next = i + 1; next < calls.size() && to == kNone; ++next)
      to = first_work_[calls[next]];
    if (to == kNone) return false;
    const TracedWork& waiting = w_.work[to];
    if (at_record != kNone && first_work_[at_record] != kNone) {
      const std::uint32_t lane = w_.work[first_work_[at_record]].lane;
      if (lane != waiting.lane && wait_edge(w_.last_before(lane, record), to)) return true;
    }
    std::uint32_t latest = kNone;
    for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane) {
      if (lane == waiting.lane) continue;
      const std::uint32_t k = ended_before(waiting, lane, c.start, waiting.start + kTolerance);
      if (k != kNone && (latest == kNone || w_.work[k].end > w_.work[latest].end)) latest = k;
    }
    return wait_edge(latest, to);
  }

  void sync_edges() {
    for (const auto& points : points_) {
      for (const Point& p : points) {
        if (!p.is_return) continue;
        const Wait& wait = waits_[p.call];
        for (std::uint32_t k : wait.work)
          edge(node_of_work_[k], p.node, TraceEdge::Kind::kSync, wait.lag);
        if (wait.blocked && w_.calls[p.call].kind == CallKind::kOther) ++g_.full_queue;
      }
    }
  }

  // What began later than its causes say: another stream's work that ended just then, or nothing.
  void explain() {
    std::vector<Nanoseconds> release(g_.nodes.size(), Nanoseconds(0));
    for (const Incoming& in : incoming_) {
      release[in.to] = std::max(release[in.to], g_.nodes[in.edge.from].end() + in.edge.lag);
    }
    for (std::uint32_t i = 0; i < w_.work.size(); ++i) {
      const TracedWork& k = w_.work[i];
      TraceNode& n = g_.nodes[node_of_work_[i]];
      const Nanoseconds late = k.start - release[node_of_work_[i]];
      if (late <= kUnexplained) continue;
      std::uint32_t latest = kNone;
      for (std::uint32_t lane = 0; lane < w_.work_of.size(); ++lane) {
        if (lane == k.lane) continue;
        const std::uint32_t other = ended_before(k, lane, k.start, k.start + kTolerance / 2);
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
  TraceGraph g_;
  std::array<Nanoseconds, 3> launch_{};  // of kernels, of copies and fills, of graphs
  std::vector<Nanoseconds> gap_;         // by stream
  Nanoseconds usual_launch_{0};          // what a launch takes of its thread
  std::map<std::pair<std::string, std::string>, std::uint32_t> streams_;  // to lanes
  std::map<std::int64_t, std::uint32_t> recorded_;   // correlation to KinetoTrace::waits
  std::map<std::int64_t, Nanoseconds> record_time_;  // correlation to cudaEventRecord's begin
  std::vector<Wait> waits_;                          // by call
  std::vector<std::uint32_t> first_work_;            // by call
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
