// The driver calls and the GPU work of a trace's iterations, matched with each other. trace_graph.h
// makes nodes of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/replay/kineto.h"

namespace orrery {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

// The effect of a driver call, by its name. The names of CUDA's runtime, CUDA's driver and HIP are
// known.
enum class CallKind : std::uint8_t {
  kOther,
  kDeviceSync,
  kStreamSync,
  kEventSync,
  kFree,  // may wait for the device
  kCopy,  // waits for its own copy if that is from or to pageable memory
  kEventRecord,
  kStreamWait,
};
CallKind call_kind(std::string_view name);

struct TracedCall {
  std::uint32_t event = 0, lane = 0;
  std::uint32_t op = 0;        // innermost enclosing cpu_op with shapes, as event + 1; 0: none
  std::uint32_t launched = 0;  // number of pieces of GPU work
  CallKind kind = CallKind::kOther;
  bool in_optimizer = false;
  bool graph = false;            // the call launches a CUDA graph
  Nanoseconds start{0}, end{0};  // from the beginning of the window
};

struct TracedWork {
  std::uint32_t event = 0, lane = 0;
  std::uint32_t call = kNone;      // that launched it; kNone: it was launched before the window
  std::uint32_t previous = kNone;  // previous work of its stream
  Nanoseconds start{0}, end{0};    // from the beginning of the window, at least 0
  Nanoseconds launched{0};         // time of the launch, at least that of the previous work
};

struct TracedWindow {
  Nanoseconds begin{0}, end{0};  // times of the trace
  bool marked = false;
  std::int64_t first_step = 0, steps = 1;
  std::uint32_t main_lane = kNone;                            // the thread that runs the iterations
  Nanoseconds main_end{0};                                    // time at which it ends them
  std::vector<TracedCall> calls;                              // by start
  std::vector<TracedWork> work;                               // by start
  std::vector<std::vector<std::uint32_t>> calls_of, work_of;  // by lane, by start
  std::uint64_t orphans = 0;
  Nanoseconds carried{0};

  // The last work of a stream that was launched before `when`; kNone: none was.
  std::uint32_t last_before(std::uint32_t lane, Nanoseconds when) const;
  // The first work of a stream that was launched at `when` or later; kNone: none was.
  std::uint32_t first_from(std::uint32_t lane, Nanoseconds when) const;
};

// The window of one step, or of all. Calls that neither launch nor wait nor record are omitted.
// Throws InputError as build_trace_graph does.
TracedWindow trace_window(const KinetoTrace& trace, const std::string& name,
                          std::optional<std::int64_t> step);

}  // namespace orrery
