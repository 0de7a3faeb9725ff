// Runs a program of transfers and computation on a topology: the flow level.
//
//   FlowResult r = simulate_flows(topology, program);
//
// A message takes its share of every link on its path, max-min fair among all messages under way
// (fair_share.h), anew at every instant at which one begins or ends; links are full duplex. When
// its last byte has left, the sender goes on to the stream's next message; it has arrived the sum
// of the links' latencies and `message_overhead` later. There are no packets, queues, losses or
// protocols: a share is reached at once, as an ideal congestion control would.
//
// Symmetry is folded (flow_fold.h), and a state that repeats itself, such as a ring in its stride,
// is repeated in one step until a stream comes to its end: with a period found between states that
// agree to one part in 1e9. Both can be switched off, to check them.
//
// Deterministic: the same times for the same input, to the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/flow/topology/topology.h"

namespace orrery {

struct FlowOptions {
  Seconds message_overhead;  // software, added to the latency of every message
  bool fold = true;
  bool repeat_periods = true;
  std::int64_t most_events = 1'000'000'000;  // InputError beyond
};

struct FlowResult {
  struct Span {
    Seconds start, end;  // on the first GPU that starts, on the last that ends
  };
  struct LinkLoad {
    LinkId link = 0;         // one of its class
    std::int64_t alike = 1;  // links of the class
    Bytes bytes;             // over this one, in all
    double busy = 0;         // bytes over bandwidth times makespan
  };
  Seconds makespan;
  std::vector<Span> ops;          // in the program's order
  std::vector<Seconds> gpu_end;   // when each GPU has ended its last operation
  std::vector<LinkLoad> busiest;  // classes of links, the most loaded first, at most 16
  // How the work was done: streams before folding, classes of streams, events handled, messages of
  // classes passed over in repeated periods.
  std::int64_t streams = 0, classes = 0, events = 0, repeated = 0;
};

// InputError: as fold_flows; operations or streams that wait for each other; a message that would
// never arrive; more than most_events events.
FlowResult simulate_flows(const Topology& topology, const FlowProgram& program,
                          const FlowOptions& options = {});

}  // namespace orrery
