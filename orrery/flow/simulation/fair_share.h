// Max-min fair sharing of links among flows, kept up to date as flows start and stop.
//
// Flow f needs uses(f, l) times its rate of link l. Rates are max-min fair: raised together until a
// link is full; its flows stay there, the others go on (progressive filling, Bertsekas and
// Gallager, Data Networks, 6.5.2). For every flow there is a full link on which no flow has a
// higher rate. A change settles anew only the flows that are joined to it over shared links.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace orrery {

class FairShare {
 public:
  struct Use {
    std::int32_t link = 0;
    double times = 1;  // > 0
  };

  explicit FairShare(std::vector<double> capacities);

  // A flow, stopped at first; returns its number (0, 1, ...). One without links has the rate
  // infinity. Each link at most once in `uses`.
  int add(std::span<const Use> uses);

  void start(int flow);  // REQUIRES stopped
  void stop(int flow);   // REQUIRES started

  // Brings the rates up to date; calls changed(flow) for every started flow whose rate may differ
  // from before. Afterwards rate() holds.
  template <class Changed>
  void settle(Changed changed) {
    if (dirty_.empty()) return;
    solve();
    for (int flow : touched_) changed(flow);
  }
  double rate(int flow) const { return rate_[static_cast<std::size_t>(flow)]; }

 private:
  struct Entry {
    std::int32_t flow = 0;
    double times = 0;
    std::int32_t use = 0;  // index of the use in uses_
  };
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
