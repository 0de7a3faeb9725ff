// Data-parallel communication that overlaps with computation: weights that are sharded, in every
// pass; gradients and updated weights, once an iteration.
//
// Sharded weights (ZeRO 3, FSDP). With n layers, a the computation of a layer, g its gather, r its
// reduction, and computation that takes s times as long while either runs:
//
//   forward    g + (n-1) |a, g| + a
//   backward, by prefetch policy (PyTorch's BackwardPrefetch):
//     pre      |a, g| + (n-2) |a, g + r| + |a, r| + r
//     post     a + (n-1) (g + |a, r|) + r
//     none     n a + (n-1) (r + g) + r
//
// |a, c| is the time of computation during which communication c runs (side_by_side in schedule.h).
// Forward, and backward with `pre`, the weights of the next layer arrive during the computation of
// a layer, and backward the gradients of the layer before leave behind them. With `post` the gather
// is issued after the computation of the layer and before its reduction. With `none` it is issued
// after the reduction. The last layer's weights are still present when the backward pass begins.
// Without resharding, backward has g = 0 and reductions run as with `pre`. The first gather waits
// for the pass before it (FSDP's root waits for the compute stream), and nothing waits for the last
// reduction. Forward passes gather one layer ahead under every policy.
//
// Gradients, once an iteration. A stage holds v chunks whose last backward passes end `spacing`
// after each other. The gradients of a chunk, c, are sent when its pass has ended, except that
// those of the last chunk are sent in n pieces (buckets), each when its share g of the pass is
// done. With a backlog b of earlier chunks on the stream when the last pass begins, and slowdown s:
//
//   T = max(n g + c/n + (1 - 1/s)(b + (n-1) c/n), max(b, g + (1 - 1/s) b) + c)
//   b = max(0, v > 1: n g + max(c - spacing, (v-1)(c - spacing)))
//
// Computation limits the first term of T, communication the second. The exposed time is T - n g,
// plus the time by which the other chunks' communication slowed the passes down that hid it. If
// passes send over the same port as the data stream (shared_port.h), communication runs at a rate
// q < 1 during passes: (1 - 1/s) / q replaces 1 - 1/s, and what communication limits takes (1 - q)
// s of the computation during it longer.
//
// Copies of gradients to an optimizer on the host follow on a third stream. Updated weights before
// the first forward passes are the mirror image of gradients. The event level (pipeline.h) runs the
// pieces on streams. Both agree exactly for one chunk a stage (tests/law/training_law_test.cc), and
// nearly for several.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// One pass with sharded weights.
struct ShardedPass {
  Seconds compute, gather, scatter;  // of all layers, each alone
  int layers = 1;
  bool backward = false;
  double slowdown = 1;  // of computation while communication runs, >= 1
  double rate = 1;      // of communication during computation, <= 1
  Prefetch prefetch = Prefetch::kPre;
};

// The time of the pass, by the formulas above.
Seconds sharded_time(const ShardedPass& pass);
// The time of the pass, by running every layer on two streams.
Seconds run_sharded(const ShardedPass& pass);

// The gradients of one stage, or, mirrored, its updated weights.
struct DataStream {
  Seconds communication;  // of all chunks
  Seconds to_host;        // copies that follow, on a stream of their own
  Seconds pass;           // last backward pass (mirrored: first forward pass) of a chunk
  Seconds spacing;        // time between the ends of the last passes of two chunks
  int chunks = 1;
  int pieces = 1;                 // of the last chunk
  double slowdown = 1, rate = 1;  // as in ShardedPass
};
struct DataExposed {
  Seconds communication;  // time after the end of the computation
  Seconds to_host;        // time after the end of that communication
};
DataExposed exposed(const DataStream& d);

}  // namespace orrery
