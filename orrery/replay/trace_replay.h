// A trace's graph run again: each node begins as soon as what it depends on allows.
//
// With all factors 1 this gives the trace back, as far as the graph explains it; how far off it is
// stands beside every answer. With other factors it is a what-if. The graph is a max-plus system,
// hence: a larger factor never makes an earlier end, and a class made faster by a factor f saves at
// most (1 - f) of its time on the critical path.
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
  std::vector<std::uint32_t> cause;     // the node that each waited for last; itself if none
  Nanoseconds total{0};                 // end of the last node
  std::uint32_t last = 0;               // that node
};

// `factors`: of the durations of GPU work, by node; empty: all 1. `cpu`: of what threads did
// between calls. REQUIRES factors and cpu >= 0.
ReplayedTrace replay_trace(const TraceGraph& graph, std::span<const double> factors = {},
                           double cpu = 1);

// Where the time of a replayed trace goes. All times are of one iteration (the mean over steps).
struct ReplayBreakdown {
  struct Class {
    Seconds busy;      // sum over kernels
    Seconds exposed;   // while no other class ran on any stream
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
  std::vector<Stream> streams;  // the busiest first
  Seconds idle;                 // nothing ran on the GPU
  // The rest of the critical path: threads; lags of launches, streams and synchronisations; waits
  // that nothing explains.
  Seconds cpu, lags, unexplained;
};
ReplayBreakdown break_down(const KinetoTrace& trace, const TraceGraph& graph,
                           const ReplayedTrace& replayed, double cpu = 1);

// The replayed work of streams and calls of threads, for ui.perfetto.dev (Chrome's trace events).
std::string replay_timeline(const KinetoTrace& trace, const TraceGraph& graph,
                            const ReplayedTrace& replayed);

}  // namespace orrery
