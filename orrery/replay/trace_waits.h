// The lags and waits of a trace, from which trace_graph.h makes edges.
//
// A lag is shared by all launches of one kind, or by all work of a stream. The work that a call
// waited for is known if the trace records it (CUDA's synchronisation events). Otherwise it is the
// work that ended last during the call.
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
  static constexpr Nanoseconds kTolerance{2'000};     // for the clocks of host and GPU and rounding
  static constexpr Nanoseconds kUnexplained{10'000};  // longer waits need an explanation
  static constexpr Nanoseconds kHandOver{50'000};     // shorter gaps of a thread are its own work

  // Borrows both arguments.
  TraceWaits(const KinetoTrace& trace, const TracedWindow& window);

  // The waiting of a call.
  struct Wait {
    std::vector<std::uint32_t> work;  // that the call waited for
    bool blocked = false;             // the call did wait
    Nanoseconds lag{0};               // from the end of the last work to the return of the call
  };
  const Wait& of_call(std::uint32_t call) const { return waits_[call]; }
  // Time that a call which waited takes on its thread in addition to the wait.
  Nanoseconds own_cost(std::uint32_t call) const;

  // Time from a launch to the start of its work on an idle stream, and from work to the next work
  // of its stream.
  Nanoseconds launch_lag(const TracedWork& k) const { return launch_[kind_of_launch(k)]; }
  Nanoseconds gap(std::uint32_t stream) const { return gap_[stream]; }

  // The first work that a call launched; kNone: it launched none.
  std::uint32_t first_work(std::uint32_t call) const { return first_work_[call]; }
  // The lane of a stream; kNone: the trace has no work of the stream.
  std::uint32_t stream_lane(std::int64_t device, std::int64_t stream) const;
  // The synchronisation event of a call that waits; nullptr: the trace has none.
  const KinetoWait* recorded(const TracedCall& c) const;
  // Time at which an event was recorded; `otherwise` if the trace does not have it.
  Nanoseconds record_time(std::int64_t record, Nanoseconds otherwise) const;
  // The work that `waiting` may have waited for: the last work of a stream that was launched before
  // `launched`, began before `waiting` and had ended by `when`. kNone: there is none.
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
  std::array<Nanoseconds, 3> launch_{};  // lags of kernels, of copies and fills, of graphs
  std::vector<Nanoseconds> gap_;         // by stream
  Nanoseconds usual_launch_{0};          // time that a launch takes on its thread
  std::map<std::pair<std::string, std::string>, std::uint32_t> streams_;  // lane of a stream
  std::map<std::int64_t, std::uint32_t> recorded_;   // KinetoTrace::waits by correlation
  std::map<std::int64_t, Nanoseconds> record_time_;  // begin of cudaEventRecord by correlation
  std::vector<Wait> waits_;                          // by call
  std::vector<std::uint32_t> first_work_;            // by call
};

}  // namespace orrery
