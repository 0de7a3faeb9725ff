#include "orrery/replay/trace_waits.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr Nanoseconds kOwnCost{5'000};  // time of a synchronisation that does not wait
constexpr std::uint32_t kQueue = 256;   // launches that can fill the GPU's queue of 1,024
                                        // entries, of which a launch may take several

// The value below which a share of all values are.
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

}  // namespace

TraceWaits::TraceWaits(const KinetoTrace& trace, const TracedWindow& window)
    : t_(trace), w_(window) {
  measure_lags();
  find_waits();
}

Nanoseconds TraceWaits::own_cost(std::uint32_t call) const {
  return w_.calls[call].kind == CallKind::kOther ? usual_launch_ : kOwnCost;
}

std::uint32_t TraceWaits::kind_of_launch(const TracedWork& k) const {
  const bool graph = k.call != kNone && w_.calls[k.call].graph;
  return graph ? 2 : t_.events[k.event].kind == KinetoEvent::Kind::kKernel ? 0 : 1;
}

// Measures the lags of launches and of streams.
void TraceWaits::measure_lags() {
  // Launches on a stream that had to wait do not show the lag of a launch.
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
    Nanoseconds least(5'000);  // no work waited for its launch, so that the value has no effect
    for (Nanoseconds d : all[kind]) least = std::min(least, d);
    launch_[kind] = median(idle[kind], least);
    // A lag that is longer than those of most launches has another cause.
    launch_[kind] = std::min(launch_[kind], std::max(median(all[kind], least), least));
  }
  // Sums and counts by stream, and of all streams for those in which nothing was queued.
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

std::uint32_t TraceWaits::stream_lane(std::int64_t device, std::int64_t stream) const {
  const auto it = streams_.find({std::to_string(device), std::to_string(stream)});
  return it == streams_.end() ? kNone : it->second;
}

const KinetoWait* TraceWaits::recorded(const TracedCall& c) const {
  const std::int64_t correlation = t_.events[c.event].correlation;
  const auto it = recorded_.find(correlation);
  return correlation < 0 || it == recorded_.end() ? nullptr : &t_.waits[it->second];
}

Nanoseconds TraceWaits::record_time(std::int64_t record, Nanoseconds otherwise) const {
  const auto at = record_time_.find(record);
  return at == record_time_.end() ? otherwise : at->second;
}

// The last work of a stream that was launched before `launched` and had ended by `when`.
std::uint32_t TraceWaits::ended_by(std::uint32_t lane, Nanoseconds launched,
                                   Nanoseconds when) const {
  const auto& all = w_.work_of[lane];
  const auto it = std::partition_point(all.begin(), all.end(), [&](std::uint32_t i) {
    return w_.work[i].launched < launched && w_.work[i].end <= when;
  });
  return it == all.begin() ? kNone : *(it - 1);
}

std::uint32_t TraceWaits::ended_before(const TracedWork& waiting, std::uint32_t lane,
                                       Nanoseconds launched, Nanoseconds when) const {
  std::uint32_t k = ended_by(lane, launched, when);
  while (k != kNone && w_.work[k].start >= waiting.start) k = w_.work[k].previous;
  return k;
}

// Finds the work that each call waited for.
void TraceWaits::find_waits() {
  for (std::uint32_t i = 0; i < t_.lanes.size(); ++i) {
    if (t_.lanes[i].gpu) streams_.emplace(std::pair(t_.lanes[i].process, t_.lanes[i].thread), i);
  }
  for (std::uint32_t i = 0; i < t_.waits.size(); ++i) recorded_.emplace(t_.waits[i].correlation, i);
  for (const TracedCall& c : w_.calls) {
    if (c.kind == CallKind::kEventRecord)
      record_time_.emplace(t_.events[c.event].correlation, c.start);
  }
  std::vector<Nanoseconds> durations;
  for (const TracedCall& c : w_.calls) {
    if (c.launched > 0 && c.kind == CallKind::kOther) durations.push_back(c.end - c.start);
  }
  // Most launches may have waited for space in the queue, but not all.
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

std::vector<std::uint32_t> TraceWaits::waited_for(std::uint32_t call) const {
  const TracedCall& c = w_.calls[call];
  const Nanoseconds by = c.end + kTolerance;
  std::vector<std::uint32_t> found;
  const auto add = [&](std::uint32_t k) {
    if (k != kNone && w_.work[k].end <= by) found.push_back(k);
  };
  // If the stream is unknown: the work that ended last during the call.
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
      // A launch took long while many launches were ahead of it, so that the queue was full.
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

}  // namespace orrery
