// Gathers the lines of a trace, whatever their format, into a load of requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/serving/traces/trace.h"

namespace orrery {

// One request of a trace, before scaling.
struct TraceLine {
  double arrival = 0;  // seconds
  // Seconds between the end of the session's previous request and this one. Given instead of an
  // arrival for a request that waits for another.
  std::optional<double> follows;
  double input = 0, output = 0;  // tokens
  double priority = 0;           // lower goes first
  std::string session;           // empty: none
  std::vector<std::uint64_t> ids;
};

class TraceCollector {
 public:
  // Borrows both.
  TraceCollector(Trace& trace, const TraceOptions& options) : trace_(trace), options_(options) {}

  Trace& trace() { return trace_; }
  // Whether TraceOptions::requests requests have been added.
  bool full() const {
    return options_.requests > 0 &&
           static_cast<std::int64_t>(trace_.load.requests.size()) >= options_.requests;
  }
  // Whether a request of the session was added before.
  bool knows(const std::string& session) const { return sessions_.contains(session); }
  // Checks and adds a request. `where` is the file and line for messages. Throws InputError.
  void add(const TraceLine& line, const std::string& where);

 private:
  struct Session {
    std::int32_t number = 0;
    std::int64_t last = -1;  // index of its last request; -1: none
    double delay = 0;        // seconds, summed over requests without tokens since then
  };

  void check_arrival(const TraceLine& line, const std::string& where);
  std::int32_t length(double tokens, const std::string& where) const;

  Trace& trace_;
  const TraceOptions& options_;
  double latest_ = 0, first_ = -1;  // arrivals, seconds; first_ < 0: no arrival yet
  std::map<std::string, Session> sessions_;
};

}  // namespace orrery
