// The graph of a trace, run again: each node begins as soon as the nodes that it depends on allow.
//
// If all factors are 1 this reproduces the trace, as far as the graph explains it; every answer
// states the difference. With other factors it answers what-if questions. The graph is a max-plus
// system: a larger factor never makes an end earlier, and a factor f < 1 of a class saves at most
// (1 - f) of its time on the critical path.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/replay/trace_graph.h"

namespace orrery {

struct ReplayedTrace {
  std::vector<Nanoseconds> start, end;  // by node
  std::vector<std::uint32_t> cause;     // by node: the last node that it waited for; itself if none
  Nanoseconds total{0};                 // end of the last node
  std::uint32_t last = 0;               // the last node
};

// `factors`: factors of the durations of GPU work, by node; empty: all 1. `cpu`: factor of the time
// of threads between calls. REQUIRES factors and cpu >= 0.
ReplayedTrace replay_trace(const TraceGraph& graph, std::span<const double> factors = {},
                           double cpu = 1);

// The parts of the time of a replayed trace. All times are of one iteration: the mean over steps.
struct ReplayBreakdown {
  struct Class {
    Seconds busy;      // sum over kernels
    Seconds exposed;   // time in which no other class ran on any stream
    Seconds critical;  // on the critical path
    double kernels = 0;
  };
  struct Stream {
    std::string name;  // "device 0, stream 7"
    Seconds busy;
    double kernels = 0;
  };
  Seconds total;
  std::array<Class, kOpClasses> classes;
  std::vector<Stream> streams;  // the busiest stream first
  Seconds idle;                 // time in which nothing ran on the GPU
  // Parts of the critical path without GPU work: threads; lags of launches, streams and
  // synchronisations; unexplained waits.
  Seconds cpu, lags, unexplained;
};
ReplayBreakdown break_down(const KinetoTrace& trace, const TraceGraph& graph,
                           const ReplayedTrace& replayed, double cpu = 1);

// The replayed work of streams and calls of threads in Chrome's trace event format, which
// ui.perfetto.dev displays.
std::string replay_timeline(const KinetoTrace& trace, const TraceGraph& graph,
                            const ReplayedTrace& replayed);

}  // namespace orrery
