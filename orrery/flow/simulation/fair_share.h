// Max-min fair sharing of links among flows, kept up to date as flows start and stop.
//
// Flow f with rate r_f takes times_fl * r_f of the capacity of link l:
//
//   for each link l:   sum_f times_fl * r_f <= capacity_l
//
// The rates are max-min fair: they rise together until a link is full; the flows on that link keep
// their rate, the others rise on (progressive filling; Bertsekas and Gallager, Data Networks,
// section 6.5.2). Every flow crosses a full link on which no flow has a higher rate. A change
// affects only the flows that share links with it, directly or over others, and only those are
// solved again.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/base/units.h"

namespace orrery {

class FairShare {
 public:
  struct Use {
    std::int32_t link = 0;
    double times = 1;  // > 0
  };

  explicit FairShare(const std::vector<BytesPerSecond>& capacities);

  // Adds a stopped flow; returns its number (0, 1, ...). A flow without links has an infinite rate.
  // REQUIRES each link at most once in `uses`.
  int add(std::span<const Use> uses);

  void start(int flow);  // REQUIRES stopped
  void stop(int flow);   // REQUIRES started

  // Updates the rates; calls changed(flow) for every started flow whose rate may have changed.
  // rate() is valid from then until a flow starts or stops.
  template <class Changed>
  void settle(Changed changed) {
    if (dirty_.empty()) return;
    solve();
    for (int flow : touched_) changed(flow);
  }
  BytesPerSecond rate(int flow) const { return BytesPerSecond(rate_[index(flow)]); }

 private:
  struct Entry {
    std::int32_t flow = 0;
    double times = 0;
    std::int32_t use = 0;  // index of the use in uses_
  };
  // Rates and capacities are B/s.
  struct LinkState {
    double capacity = 0;
    std::vector<Entry> flows;     // started
    double left = 0, weight = 0;  // while solving
    std::uint64_t seen = 0;
    bool dirty = false;
  };

  bool solve_alone();
  void solve();

  std::vector<LinkState> links_;
  std::vector<std::int32_t> first_use_{0};  // of each flow, and the end
  std::vector<Use> uses_;
  std::vector<std::int32_t> place_;  // of each use in its link's list
  std::vector<double> rate_;
  std::vector<std::uint64_t> seen_, fixed_;  // of each flow: the solve that last touched it
  std::uint64_t round_ = 0;
  std::vector<std::int32_t> dirty_, component_, touched_;
  std::vector<std::pair<double, std::int32_t>> heap_;
};

}  // namespace orrery
