// ASTRA-sim's answer: what its analytical congestion-aware network backend says of one collective
// on one dimension, so that its users find their numbers here, beside the physical ones.
//
// Semantics, as its public sources have them and its results confirm to the nanosecond:
// - `bytes` is the input of one NPU (an all-gather's result is n times larger); GB/s count 2^30
//   bytes; times are whole nanoseconds, cut off at each step.
// - The buffer is cut into `splits` chunks, `active` of them under way at once, each a run of its
//   own of the algorithm; a message of a chunk is one packet.
// - A link serves packets in order, one at a time, for bytes / bandwidth; a packet arrives that and
//   the latency later. A switch stores and forwards: both links one after the other.
// - Before its first message, after each message received, and before what follows, a chunk waits
//   `endpoint_delay`; a message that is reduced takes three passes over the memory more.
// - An all-to-all over a ring passes every block on from neighbour to neighbour in n(n-1)/2
//   messages, one after the other.
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

// The end of the slowest NPU. Rings on a ring or a switch, direct on FullyConnected, and
// halving-doubling on a switch; all-reduce, all-gather, reduce-scatter and (ring, direct)
// all-to-all. InputError for what is left, and for more than 2e8 steps. One NPU takes no time.
Seconds astra_sim_time(Collective::Kind kind, CollectiveAlgorithm algorithm,
                       const AstraSimDimension& dimension, Bytes bytes,
                       const AstraSimSystem& system = {});

}  // namespace orrery
