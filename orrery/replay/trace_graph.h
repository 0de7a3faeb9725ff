// The dependencies in a trace: the graph of one training iteration, or of the whole trace, rebuilt
// as in Lumos (Liang et al. 2025, arXiv:2504.09307).
//
// A node is a point at which threads or streams affect each other:
//
//   call    the beginning of a call that launches GPU work or waits for it
//   return  the end of a call that waited
//   gpu     a kernel, copy or fill, with its duration
//   mark    the beginning of the window, and its end on the thread that runs the iterations
//
// An edge means that a node cannot begin before the end of another node plus a lag:
//
//   cpu     to the next call of the same thread. The lag is the measured time of everything that
//           the thread did between the calls. If another thread worked for it in that time
//           (autograd's thread in backward()), the edge leads through the calls of the other thread
//           (a hand-over).
//   launch  from a call to its GPU work. There is one lag for all kernels and one for all copies:
//           the median over launches whose stream was idle.
//   stream  to the next GPU work of the same stream. There is one lag for each stream: the mean
//           over work that was queued.
//   event   to GPU work of another stream (cudaStreamWaitEvent), from cuda_sync events if the trace
//           has them. Otherwise it follows from the order of the calls cudaEventRecord and
//           cudaStreamWaitEvent, and leads from the last work that had ended by then.
//   sync    from GPU work to the return of a call that waited for it: synchronisations, copies to
//           pageable memory, and launches into a full queue. The lag is measured.
//
// If work began more than 10 us later than these edges explain, an edge from the work of another
// stream that ended just before is added (an inferred wait). If there is none, the wait is kept as
// it was and counted as unexplained.
//
// Every edge holds in the trace, but an inferred wait may be a coincidence. The duration of a
// collective includes waiting for the slowest rank, which the trace of one rank cannot separate.
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
  Nanoseconds start{0};        // measured, from the beginning of the window
  Nanoseconds duration{0};     // of GPU work; 0 for other nodes
  Nanoseconds unexplained{0};  // wait after the end of everything that it depends on
  std::uint32_t event = 0;     // index in KinetoTrace::events
  std::uint32_t op = 0;        // the enclosing cpu_op with "Input Dims", as event + 1; 0: none
  std::uint32_t lane = 0;
  std::uint32_t first_edge = 0;  // index of the first edge that leads to the node
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
  std::vector<TraceEdge> edges;  // to node i: from its first_edge up to that of node i + 1
  // Time from the beginning of the first iteration on the host to the end of all work of the last
  // iteration.
  Nanoseconds measured{0};
  std::int64_t first_step = 0, steps = 1;
  bool marked = false;  // iterations have ProfilerStep#n; false: the trace is one iteration
  // Numbers of conclusions.
  std::uint64_t recorded_waits = 0;  // event edges from cuda_sync events
  std::uint64_t ordered_waits = 0;   // event edges from the order of calls
  std::uint64_t inferred_waits = 0;  // event edges from times only
  std::uint64_t hand_overs = 0;
  std::uint64_t full_queue = 0;  // launches that waited for space in the queue
  std::uint64_t orphans = 0;     // GPU work whose launch is not in the trace
  Nanoseconds unexplained{0};    // sum over nodes
  Nanoseconds carried{0};        // time of GPU work in the window that was launched before it

  std::uint32_t edges_end(std::size_t node) const {
    return node + 1 < nodes.size() ? nodes[node + 1].first_edge
                                   : static_cast<std::uint32_t>(edges.size());
  }
};

// Builds the graph. `step`: the n of one ProfilerStep#n; nothing: all steps. Throws InputError,
// beginning with `name`, if the window has no GPU work or the trace has no such step.
TraceGraph build_trace_graph(const KinetoTrace& trace, const std::string& name,
                             std::optional<std::int64_t> step = {});

}  // namespace orrery
