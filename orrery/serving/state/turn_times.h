// When the last tokens of the first running sequences were delivered, all in one step, together or
// one after the other (DecodeGroup::in_turn). Sequences whose times are the same time apart are one
// run, so that a step costs what changes in it and not the number of sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

class TurnTimes {
 public:
  // Number of sequences.
  std::int64_t size() const { return size_; }

  void clear() {
    runs_.clear();
    size_ = 0;
  }

  // Appends `n` sequences whose tokens were delivered from `first` on, `each` after each other.
  void add(std::int64_t n, SimTime first, SimTime each) {
    if (n == 0) return;
    size_ += n;
    if (!runs_.empty() && runs_.back().each == each && runs_.back().end() == first)
      runs_.back().sequences += n;
    else
      runs_.push_back({n, first, each});
  }

  // The last sequence leaves. Returns its time. REQUIRES size() > 0.
  SimTime remove_last() {
    Run& run = runs_.back();
    --run.sequences;
    const SimTime time = run.end();
    if (run.sequences == 0) runs_.pop_back();
    --size_;
    return time;
  }

  // Calls `of(n, first, each)` for each part, in one run, of the `n` sequences from the i-th on.
  // It gets their number, the time of the first and the time from one to the next. REQUIRES
  // i + n <= size().
  template <class Of>
  void each_run(std::int64_t i, std::int64_t n, const Of& of) const {
    for (auto run = runs_.begin(); n > 0; ++run) {
      if (i >= run->sequences) {
        i -= run->sequences;
        continue;
      }
      const std::int64_t part = std::min(n, run->sequences - i);
      of(part, run->first + run->each * i, run->each);
      n -= part;
      i = 0;
    }
  }

 private:
  struct Run {
    std::int64_t sequences;
    SimTime first, each;
    SimTime end() const { return first + each * sequences; }  // where a further one would be
  };
  std::vector<Run> runs_;
  std::int64_t size_ = 0;
};

}  // namespace orrery
