// The calls and the GPU work of a trace's iterations, matched: what trace_graph.h makes nodes of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/replay/kineto.h"

namespace orrery {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

// What a call to the driver does, by its name; the same for CUDA's runtime and driver and for HIP.
enum class CallKind : std::uint8_t {
  kOther,
  kDeviceSync,
  kStreamSync,
  kEventSync,
  kFree,  // waits for the device if it has to
  kCopy,  // waits for its own copy if that is from or to pageable memory
  kEventRecord,
  kStreamWait,
};
CallKind call_kind(std::string_view name);

struct TracedCall {
  std::uint32_t event = 0, lane = 0;
  std::uint32_t op = 0;        // innermost cpu_op with shapes around it, as event + 1; 0: none
  std::uint32_t launched = 0;  // how many pieces of GPU work
  CallKind kind = CallKind::kOther;
  bool in_optimizer = false;
  bool graph = false;            // launches a CUDA graph
  Nanoseconds start{0}, end{0};  // from the window's begin
};

struct TracedWork {
  std::uint32_t event = 0, lane = 0;
  std::uint32_t call = kNone;      // that launched it; none for what was launched before the window
  std::uint32_t previous = kNone;  // of its stream
  Nanoseconds start{0}, end{0};    // from the window's begin; what began before begins at 0
  Nanoseconds launched{0};  // when it was given to its stream: no earlier than the one before
};

struct TracedWindow {
  Nanoseconds begin{0}, end{0};  // as in the trace
  bool marked = false;
  std::int64_t first_step = 0, steps = 1;
  std::uint32_t main_lane = kNone;                            // the thread that runs the iterations
  Nanoseconds main_end{0};                                    // when it ends them
  std::vector<TracedCall> calls;                              // by start
  std::vector<TracedWork> work;                               // by start
  std::vector<std::vector<std::uint32_t>> calls_of, work_of;  // by lane, by start
  std::uint64_t orphans = 0;
  Nanoseconds carried{0};

  // The last work of a stream that was given to it before `when`; kNone: none was.
  std::uint32_t last_before(std::uint32_t lane, Nanoseconds when) const;
  // The first that was given to it at `when` or later.
  std::uint32_t first_from(std::uint32_t lane, Nanoseconds when) const;
};

// Calls that neither launch nor wait nor record are left out. InputError as build_trace_graph.
TracedWindow trace_window(const KinetoTrace& trace, const std::string& name,
                          std::optional<std::int64_t> step);

}  // namespace orrery
