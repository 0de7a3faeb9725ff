// The line on the terminal that shows how far a plan is, and Ctrl-C, which ends it with the best so
// far.
#pragma once

#include <chrono>
#include <string>

#include "orrery/scenario/answer/search_watcher.h"

namespace orrery::cli {

// Shows nothing where standard error is no terminal. While it exists the first Ctrl-C ends the
// search; the second one ends the program.
class PlanProgress : public SearchWatcher {
 public:
  PlanProgress();
  ~PlanProgress() override;
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;

  void see(const SearchState& state) override;
  bool stops() override;
  // Takes the line away.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point began_, last_;
};

// The line in at most `columns`: "fleets [####----] 12/40, 8 left, 35 results/s, best 4 x (...)".
// `seconds`: since the search began.
std::string progress_line(const SearchState& state, double seconds, std::size_t columns);

}  // namespace orrery::cli
