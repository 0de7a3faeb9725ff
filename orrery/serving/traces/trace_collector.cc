#include "orrery/serving/traces/trace_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kLongestField = 1 << 24;  // tokens
constexpr double kLatest = 100 * 86400.0;  // seconds; simulated time ends at 106 days

void check_delay(double delay, const std::string& where) {
  if (!(delay >= 0 && delay <= kLatest))
    throw InputError(fmt::format("{}: a delay of {} s: expected 0 to {}", where, delay, kLatest));
}

std::int32_t priority(double v, const std::string& where) {
  if (!(std::abs(v) <= 1e9 && v == std::floor(v)))
    throw InputError(fmt::format("{}: a priority of {}: expected a whole number", where, v));
  return static_cast<std::int32_t>(v);
}

}  // namespace

void TraceCollector::add(const TraceLine& line, const std::string& where) {
  line.follows ? check_delay(*line.follows, where) : check_arrival(line, where);
  const std::int32_t input = length(line.input, where), output = length(line.output, where);
  if (input == 0 || output == 0) {
    ++trace_.zero_lengths;
    if (line.follows) sessions_.at(line.session).delay += *line.follows;
    return;
  }
  Request r;
  r.arrival = sim_seconds((latest_ - std::max(first_, 0.0)) * options_.time_scale);
  r.input = input;
  r.output = output;
  r.priority = priority(line.priority, where);
  Session* session = nullptr;
  if (!line.session.empty()) {
    const auto number = static_cast<std::int32_t>(sessions_.size());
    session = &sessions_.try_emplace(line.session, Session{number}).first->second;
    r.session = session->number;
  }
  auto& ids = trace_.load.ids;
  r.first_id = static_cast<std::uint32_t>(ids.size());
  r.ids = static_cast<std::uint32_t>(line.ids.size());
  ids.insert(ids.end(), line.ids.begin(), line.ids.end());
  auto& requests = trace_.load.requests;
  requests.push_back(r);
  if (!trace_.load.follow_ups.empty()) trace_.load.follow_ups.resize(requests.size());
  if (!session) return;
  if (line.follows && session->last >= 0) {
    trace_.load.follow(static_cast<std::size_t>(session->last), requests.size() - 1,
                       sim_seconds(*line.follows + session->delay));
  }
  session->last = static_cast<std::int64_t>(requests.size()) - 1;
  session->delay = 0;
}

void TraceCollector::check_arrival(const TraceLine& line, const std::string& where) {
  if (!(line.arrival >= 0 && line.arrival * options_.time_scale <= kLatest))
    throw InputError(
        fmt::format("{}: arrival {} s: expected 0 to {}", where, line.arrival, kLatest));
  if (line.arrival < latest_) {
    throw InputError(fmt::format("{}: arrival {} s is before the line above ({} s); sort the trace",
                                 where, line.arrival, latest_));
  }
  latest_ = line.arrival;
  if (first_ < 0) first_ = line.arrival;
}

std::int32_t TraceCollector::length(double v, const std::string& where) const {
  if (!(v >= 0 && v <= kLongestField && v == std::floor(v))) {
    throw InputError(fmt::format("{}: a length of {}: expected a whole number up to {}", where, v,
                                 kLongestField));
  }
  if (v == 0) return 0;
  return static_cast<std::int32_t>(
      std::lround(std::clamp(v * options_.length_scale, 1.0, kLongestField)));
}

}  // namespace orrery
