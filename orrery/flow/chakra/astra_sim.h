// The time that ASTRA-sim's analytical, congestion-aware network backend gives for one collective
// on one dimension, so that its users find their numbers next to the physical ones.
//
// The semantics are those of its public sources (https://github.com/astra-sim/astra-sim), and the
// results agree to the nanosecond (docs/reference/network.md, section "ASTRA-sim"):
//
// - `bytes` is the input of one NPU, so that the result of an all-gather is n times larger. A GB
//   has 2^30
//   bytes. Times are whole nanoseconds, cut off at each step.
// - The buffer is cut into `splits` chunks, each a run of the algorithm; `active` of them are under
//   way at
//   once. A message of a chunk is one packet.
// - A link serves packets in order, one at a time, for bytes / bandwidth. A packet arrives the
//   latency
//   later. A switch stores and forwards: the two links serve a packet one after the other.
// - A chunk waits `endpoint_delay` before its first message, after each message received, and
//   before its
//   next message. A message that is reduced takes three more passes over the memory.
// - An all-to-all over a ring passes every block from neighbour to neighbour, in n(n-1)/2 messages
//   one
//   after the other.
//
// All NPUs do the same at the same time, so one of them is simulated.
#pragma once

#include "orrery/base/units.h"
#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/topology/topology_file.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// ASTRA-sim's system file; the defaults are those of its validated HGX-H100 example.
struct AstraSimSystem {
  int splits = 4;                  // preferred-dataset-splits
  int active = 2;                  // active-chunks-per-dimension
  int endpoint_delay = 10;         // ns
  double memory_bandwidth = 3350;  // local-mem-bw, bytes/ns
};

// The end of the slowest NPU; 0 for one NPU. Rings run on a ring or a switch, the direct algorithm
// on FullyConnected, halving-doubling on a switch. Each has all-reduce, all-gather and
// reduce-scatter; rings and the direct algorithm have all-to-all, too. InputError: any other
// combination, or more than 2e8 steps.
Seconds astra_sim_time(Collective::Kind kind, CollectiveAlgorithm algorithm,
                       const AstraSimDimension& dimension, Bytes bytes,
                       const AstraSimSystem& system = {});

}  // namespace orrery
