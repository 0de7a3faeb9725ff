// What had to wait for what in a trace: the graph of one training iteration, or of all that the
// trace has, rebuilt as Lumos does (Liang et al. 2025, arXiv:2504.09307).
//
// Nodes are what threads and streams do to each other:
//   call    a call that launches GPU work or waits for it, at its begin; a point in time
//   return  the end of a call that waited
//   gpu     a kernel, copy or fill, with its duration
//   mark    the window's begin, and its end on the thread that runs the iterations
// An edge says that a node cannot begin before another one's end plus a lag:
//   cpu     the next call of the same thread; the lag is all that the thread did between, measured.
//           What it did while another thread worked for it (autograd's, in backward()) is not its
//           own: such gaps lead through the other thread's calls ("hand-over").
//   launch  call to GPU work; one lag for all kernels, one for copies (the median where the stream
//           was idle)
//   stream  GPU work to the next of its stream; one lag a stream (the mean where work queued)
//   event   GPU work to GPU work of another stream (cudaStreamWaitEvent). From cuda_sync events
//   where
//           the trace has them; else from the order of the calls cudaEventRecord and
//           cudaStreamWaitEvent, and the last work that had ended by then
//   sync    GPU work to the return of a call that waited for it: synchronisations, copies to
//           pageable memory, and launches that met a full queue. The lag is measured.
// Work that began more than 10 us later than this explains is first taken to have waited for the
// work of another stream that ended just before ("inferred"); where there is none, the wait is kept
// as it was and counted as unexplained.
//
// Every edge was true in the trace, but a wait that is inferred may be chance. Durations of
// collectives contain the wait for the slowest rank, which a trace of one rank cannot tell apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/replay/kineto.h"
#include "orrery/replay/op_class.h"

namespace orrery {

struct TraceNode {
  enum class Kind : std::uint8_t { kCall, kReturn, kGpu, kMark };
  Nanoseconds start{0};        // measured, from the window's begin
  Nanoseconds duration{0};     // of GPU work; else 0
  Nanoseconds unexplained{0};  // waits this long after all that it depends on
  std::uint32_t event = 0;     // in KinetoTrace::events
  std::uint32_t op = 0;        // the enclosing cpu_op with "Input Dims", as event + 1; 0: none
  std::uint32_t lane = 0;
  std::uint32_t first_edge = 0;  // of the edges that lead here
  Kind kind = Kind::kCall;
  OpClass is = OpClass::kOther;

  Nanoseconds end() const { return start + duration; }
};

struct TraceEdge {
  enum class Kind : std::uint8_t { kCpu, kLaunch, kStream, kEvent, kSync };
  std::uint32_t from = 0;
  Kind kind = Kind::kCpu;
  Nanoseconds lag{0};
};

struct TraceGraph {
  std::vector<TraceNode> nodes;  // every edge leads from an earlier node to a later one
  std::vector<TraceEdge> edges;  // of node i: first_edge of i up to that of i + 1
  // From the begin of the first iteration on the host to the end of the last thing that was done in
  // the last one.
  Nanoseconds measured{0};
  std::int64_t first_step = 0, steps = 1;
  bool marked = false;  // by ProfilerStep#n; else the whole trace counts as one iteration
  // What had to be concluded.
  std::uint64_t recorded_waits = 0;  // event edges from cuda_sync
  std::uint64_t ordered_waits = 0;   // from the order of calls
  std::uint64_t inferred_waits = 0;  // from times alone
  std::uint64_t hand_overs = 0;
  std::uint64_t full_queue = 0;  // launches that waited for room
  std::uint64_t orphans = 0;     // GPU work whose launch is not in the trace
  Nanoseconds unexplained{0};    // sum over nodes
  Nanoseconds carried{0};        // GPU work launched before the window that it began with

  std::uint32_t edges_end(std::size_t node) const {
    return node + 1 < nodes.size() ? nodes[node + 1].first_edge
                                   : static_cast<std::uint32_t>(edges.size());
  }
};

// `step`: the n of one ProfilerStep#n; nothing: all of them. InputError, beginning with `name`: no
// GPU work in the window, no such step.
TraceGraph build_trace_graph(const KinetoTrace& trace, const std::string& name,
                             std::optional<std::int64_t> step = {});

}  // namespace orrery
