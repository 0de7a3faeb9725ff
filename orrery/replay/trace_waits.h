// How long what a trace shows takes to begin, and what its calls waited for: what trace_graph.h
// makes edges of.
//
// The lags are those that all launches of a kind, and all work of a stream, share. What a call
// waited for is known where the trace records it (CUDA's synchronisation events), and else is the
// work that ended last while the call lasted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/replay/trace_work.h"

namespace orrery {

class TraceWaits {
 public:
  static constexpr Nanoseconds kTolerance{2'000};     // clocks of host and GPU, and rounding
  static constexpr Nanoseconds kUnexplained{10'000};  // a wait longer than this wants a reason
  static constexpr Nanoseconds kHandOver{50'000};     // a shorter gap of a thread is its own work

  // Both must outlive it.
  TraceWaits(const KinetoTrace& trace, const TracedWindow& window);

  // A call that waited, or could have.
  struct Wait {
    std::vector<std::uint32_t> work;
    bool blocked = false;
    Nanoseconds lag{0};  // from the end of the last work to the call's return
  };
  const Wait& of_call(std::uint32_t call) const { return waits_[call]; }
  // What a call that waited takes of its thread by itself.
  Nanoseconds own_cost(std::uint32_t call) const;

  // From a launch to the start of its work on an idle stream; from work to the next of its stream.
  Nanoseconds launch_lag(const TracedWork& k) const { return launch_[kind_of_launch(k)]; }
  Nanoseconds gap(std::uint32_t stream) const { return gap_[stream]; }

  std::uint32_t first_work(std::uint32_t call) const { return first_work_[call]; }  // or kNone
  // The lane of a stream; kNone: it has none.
  std::uint32_t stream_lane(std::int64_t device, std::int64_t stream) const;
  // What the trace says of a call that waits; null: nothing.
  const KinetoWait* recorded(const TracedCall& c) const;
  // When an event was recorded; `otherwise` where that is not in the trace.
  Nanoseconds record_time(std::int64_t record, Nanoseconds otherwise) const;
  // The last work of a stream that had ended by `when`, of that given to it before `launched` and
  // begun before `waiting`: what it may have waited for. kNone: none.
  std::uint32_t ended_before(const TracedWork& waiting, std::uint32_t lane, Nanoseconds launched,
                             Nanoseconds when) const;

 private:
  std::uint32_t kind_of_launch(const TracedWork& k) const;
  void measure_lags();
  void find_waits();
  std::uint32_t ended_by(std::uint32_t lane, Nanoseconds launched, Nanoseconds when) const;
  std::vector<std::uint32_t> waited_for(std::uint32_t call) const;

  const KinetoTrace& t_;
  const TracedWindow& w_;
  std::array<Nanoseconds, 3> launch_{};  // of kernels, of copies and fills, of graphs
  std::vector<Nanoseconds> gap_;         // by stream
  Nanoseconds usual_launch_{0};          // what a launch takes of its thread
  std::map<std::pair<std::string, std::string>, std::uint32_t> streams_;  // to lanes
  std::map<std::int64_t, std::uint32_t> recorded_;   // correlation to KinetoTrace::waits
  std::map<std::int64_t, Nanoseconds> record_time_;  // correlation to cudaEventRecord's begin
  std::vector<Wait> waits_;                          // by call
  std::vector<std::uint32_t> first_work_;            // by call
};

}  // namespace orrery
