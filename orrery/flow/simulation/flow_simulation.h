// Runs a program of transfers and computation on a topology: the flow level.
//
//   FlowResult r = simulate_flows(topology, program);
//
// All messages under way share the links on their paths max-min fairly (fair_share.h). The rates
// are computed anew whenever a message begins or ends. Links are full duplex. When the last byte of
// a message has left, the sender goes on to the stream's next message; the message arrives later by
// the sum of the links' latencies and `message_overhead`. There are no packets, queues, losses or
// protocols: a rate is reached at once, as under ideal congestion control.
//
// Symmetry is folded (flow_fold.h). A state that repeats itself, such as that of a ring in steady
// operation, is repeated in one step until a stream ends (flow_period.h); two states count as equal
// if they agree to one part in 1e9. Both can be switched off, to check them.
//
// The simulation is deterministic: equal input gives equal times, to the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/flow/topology/topology.h"

namespace orrery {

struct FlowOptions {
  Seconds message_overhead;    // time of the software, added to the latency of every message
  bool fold = true;            // simulate classes of equal behaviour
  bool repeat_periods = true;  // pass over repetitions in one step
  std::int64_t most_events = 1'000'000'000;  // more events are an InputError
};

struct FlowResult {
  struct Span {
    Seconds start;  // on the first GPU that starts the operation
    Seconds end;    // on the last GPU that ends it
  };
  struct LinkLoad {
    LinkId link = 0;         // a member of the class
    std::int64_t alike = 1;  // number of links in the class
    Bytes bytes;             // over this link, in all
    double busy = 0;         // bytes / (bandwidth * makespan), in [0, 1]
  };
  Seconds makespan;
  std::vector<Span> ops;          // in the program's order
  std::vector<Seconds> gpu_end;   // end of each GPU's last operation
  std::vector<LinkLoad> busiest;  // classes of links, the most loaded first, at most 16
  std::int64_t streams = 0;       // before folding
  std::int64_t classes = 0;       // of streams
  std::int64_t events = 0;        // handled
  std::int64_t repeated = 0;      // messages of classes that were passed over as repetitions
};

// InputError: the errors of fold_flows; operations or streams that wait for each other; a message
// that would never arrive; more than most_events events.
FlowResult simulate_flows(const Topology& topology, const FlowProgram& program,
                          const FlowOptions& options = {});

}  // namespace orrery
