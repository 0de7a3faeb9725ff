#include "orrery/planner/bound/thinned_load.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Takes the requests [first, first + n) over, which then arrive from `start` on.
void take(const RequestLoad& from, std::size_t first, std::size_t n, SimTime start,
          RequestLoad& out) {
  const std::size_t before = out.requests.size();
  const SimTime since = from.requests[first].arrival;
  for (std::size_t i = first; i < first + n; ++i) {
    Request r = from.requests[i];
    r.arrival = start + (r.arrival - since);
    const auto ids = from.ids.begin() + r.first_id;
    r.first_id = static_cast<std::uint32_t>(out.ids.size());
    out.ids.insert(out.ids.end(), ids, ids + r.ids);
    out.requests.push_back(r);
  }
  if (from.follow_ups.empty()) return;
  out.follow_ups.resize(out.requests.size());
  for (std::size_t i = first; i < first + n; ++i) {
    const FollowUp& f = from.follow_ups[i];
    if (f.next != FollowUp::kNone && f.next < first + n)
      out.follow(before + i - first, before + f.next - first, f.delay);
  }
}

}  // namespace

std::optional<ThinnedLoad> thinned(const RequestLoad& load) {
  const auto all = static_cast<std::int64_t>(load.requests.size());
  if (all <= kShort) return std::nullopt;
  const double last = load.requests.back().arrival.seconds();
  const double between = last / static_cast<double>(all - 1);
  std::int64_t stretch = kLeastStretch;
  if (between > 0)
    stretch = std::max<std::int64_t>(stretch,
                                     std::llround(std::ceil(kLeastStretchTime / Seconds(between))));
  for (const std::int64_t n : {8, 4, 2}) {
    if (2 * n * stretch > all) continue;
    ThinnedLoad out{{}, n};
    out.load.id_tokens = load.id_tokens, out.load.names_outputs = load.names_outputs;
    SimTime start;
    for (std::int64_t i = 0; i < n; ++i) {
      // In the middle of its part of the trace.
      const std::int64_t first = (2 * i + 1) * all / (2 * n) - stretch / 2;
      take(load, static_cast<std::size_t>(first), static_cast<std::size_t>(stretch), start,
           out.load);
      start = out.load.requests.back().arrival + sim_seconds(between);
    }
    return out;
  }
  return std::nullopt;
}

RequestLoad at_times_rate(RequestLoad load, double factor) {
  for (Request& r : load.requests) r.arrival = sim_seconds(r.arrival.seconds() / factor);
  return load;
}

}  // namespace orrery
