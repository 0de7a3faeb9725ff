#include "orrery/flow/simulation/flow_period.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kSameState = 1e-9;
constexpr int kWorthWatching = 16;  // messages

}  // namespace

void FlowPeriod::started(std::int32_t task) {
  if (work_.task(task).count >= kWorthWatching) reference_ = kNotChosen;
  forget();
}

void FlowPeriod::ended(std::int32_t task) {
  if (task == reference_) reference_ = kNotChosen;
  forget();
}

void FlowPeriod::forget() {
  saved_.time = -1;
  until_saved_ = 0;
  power_ = 1;
}

void FlowPeriod::choose_reference() {
  reference_ = kNothingToWatch;
  int most = kWorthWatching;
  for (std::int32_t i : work_.running) {
    const int open = work_.task(i).count - work_.task(i).sent;
    if (open > most) most = open, reference_ = i;
  }
}

double FlowPeriod::skip(double now, const DelayLanes& arrivals, double next) {
  const bool moved = std::exchange(moved_, false);
  if (reference_ == kNotChosen) choose_reference();
  if (!moved || reference_ < 0) return 0;
  // If many more messages are under way than are sent, the comparison costs more than it saves.
  if (arrivals.size() > 64 + 16 * work_.running.size()) return 0;
  // Most states differ in what is quickly compared.
  const bool alike = until_saved_ > 0 && saved_.in_flight.size() == arrivals.size() &&
                     saved_.running == work_.running;
  if (alike || until_saved_ <= 1) take(current_, now, arrivals);
  if (until_saved_ > 0) {
    if (alike && same(saved_, current_)) return repeat(now, next);
    if (--until_saved_ > 0) return 0;
  }
  std::swap(saved_, current_);
  until_saved_ = power_;
  power_ *= 2;
  return 0;
}

void FlowPeriod::take(State& s, double now, const DelayLanes& arrivals) const {
  s.time = now;
  s.running = work_.running;
  s.sent.clear();
  s.ahead.clear();
  s.left.clear();
  const int base = work_.task(reference_).sent;
  for (std::int32_t i : s.running) {
    const FlowTask& t = work_.task(i);
    s.sent.push_back(t.sent);
    s.ahead.push_back(t.sent - base);
    s.left.push_back(t.sending && t.bytes > 0 ? t.left_at(now) / t.bytes : -1);
  }
  s.in_flight.clear();
  arrivals.each(
      [&](std::int32_t what, double time) { s.in_flight.emplace_back(what, time - now); });
  std::sort(s.in_flight.begin(), s.in_flight.end());
}

bool FlowPeriod::same(const State& a, const State& b) {
  if (a.running != b.running || a.in_flight.size() != b.in_flight.size()) return false;
  const double step = b.time - a.time;
  for (std::size_t i = 0; i < a.ahead.size(); ++i) {
    // The task moves with the reference, or not at all.
    if (a.ahead[i] != b.ahead[i] && a.sent[i] != b.sent[i]) return false;
    if (std::abs(a.left[i] - b.left[i]) > kSameState) return false;
  }
  for (std::size_t i = 0; i < a.in_flight.size(); ++i) {
    if (a.in_flight[i].first != b.in_flight[i].first ||
        std::abs(a.in_flight[i].second - b.in_flight[i].second) > kSameState * step) {
      return false;
    }
  }
  return true;
}

// The number of whole periods after which no stream has reached its last messages; 0: the state is
// not steady.
std::int64_t FlowPeriod::most_periods(int period) const {
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (std::size_t k = 0; k < work_.running.size(); ++k) {
    const FlowTask& t = work_.task(work_.running[k]);
    const bool moves = t.sent != saved_.sent[k];
    if (moves) {
      if (saved_.sent[k] <= work_.most_lag()) return 0;
      most = std::min<std::int64_t>(most, (t.count - t.sent) / period - 2);
    }
    // A task that moves may reach the point for which one that does not move waits.
    for (const FoldedFlows::Wait& w : work_.waits(t)) {
      const FlowTask& other = work_.task(t.first_task + w.other);
      if (other.arrived == other.count) continue;
      const bool other_moves = other.running && other.sent != saved_.sent[index(other.place)];
      if (other_moves == moves) continue;
      const int gap = std::abs(other.arrived - std::min(t.sent - w.lag + 1, other.count));
      most = std::min<std::int64_t>(most, gap / period - 2);
    }
  }
  return most;
}

double FlowPeriod::repeat(double now, double next) {
  const FlowTask& reference = work_.task(reference_);
  const int period = reference.sent - saved_.sent[index(reference.place)];
  const double length = now - saved_.time;
  std::int64_t times = period > 0 && length > 0 ? most_periods(period) : 0;
  if (times >= 1 && next < std::numeric_limits<double>::infinity()) {
    times = std::min(
        times, static_cast<std::int64_t>(std::min(1e9, std::floor((next - now) / length) - 1)));
  }
  if (times < 1) {
    forget();
    return 0;
  }
  const double jump = length * static_cast<double>(times);
  for (std::size_t k = 0; k < work_.running.size(); ++k) {
    FlowTask& t = work_.task(work_.running[k]);
    t.since += jump;
    if (t.sent == saved_.sent[k]) continue;
    t.sent += period * static_cast<int>(times);
    t.arrived += period * static_cast<int>(times);
    repeated_ += period * times;
  }
  forget();
  return jump;
}

}  // namespace orrery
