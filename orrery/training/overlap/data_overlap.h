// Data-parallel communication beside computation: weights that are sharded, and gradients and
// updated weights once an iteration.
//
// Sharded weights (ZeRO 3, FSDP), in every pass, of n layers. With a a layer's computation, g its
// gather, r its reduction, and computation slower by s while either runs:
//
//   forward    g + (n-1) |a, g| + a              the next layer's weights come beside a layer
//   backward   |a, g| + (n-2) |a, g + r| + |a, r| + r
//                                                gradients of the layer before leave behind them;
//                                                the last layer's weights are still there
//     post     a + (n-1) (g + |a, r|) + r        the gather is issued behind the computation, ahead
//                                                of the reduction, in which order they travel
//     none     n a + (n-1) (r + g) + r           it waits for the reduction, issued before it
//
// where |a, c| is computation beside communication (schedule.h: side_by_side); without resharding
// backward has g = 0 and reductions run as with prefetch pre. The first gather waits for the pass
// before (FSDP's root waits for the compute stream), and the last reduction for nothing that is
// left. Forward passes gather one layer ahead under every policy: nothing but the stream orders
// them. Orders of issue and what they hide: PyTorch's documentation of BackwardPrefetch.
//
// Gradients, after the last of a stage's backward passes. The stage holds v chunks, whose last
// passes end `apart` of each other; a chunk's gradients, c, leave when it has ended, but those of
// the last chunk in n pieces (buckets), each when its share g of the pass is done. With a backlog b
// of earlier chunks on the stream at the beginning of the last pass:
//
//   T = max(n g + c/n + (1 - 1/s)(b + (n-1) c/n), max(b, g + (1 - 1/s) b) + c)
//   b = max(0, v > 1: n g + max(c - apart, (v-1)(c - apart)))
//
// Where passes send over the same port as the data stream (shared_port.h), computation is slower by
// more than the kernels, and communication goes at a rate q < 1 while passes compute: 1 - 1/s is
// (1 - 1/s) / q then, and what communication limits gets (1 - q) s of the computation beside it
// longer.
//
// The first is limited by computation, the second by communication. What is left over is T - n g,
// and what the other chunks' communication took of the passes that hid it. Copies of the gradients
// to an optimizer on the host follow on a third stream. Updated weights before the first forward
// passes are the mirror image. The event level (pipeline.h) runs pieces on streams: both agree
// exactly for one chunk a stage (tests/law/training_law_test.cc), and nearly for more.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct ShardedPass {
  Seconds compute, gather, scatter;  // of all layers, each alone
  int layers = 1;
  bool backward = false;
  double slowdown = 1;  // of computation beside communication, >= 1
  double rate = 1;      // of communication beside computation, <= 1
  Prefetch prefetch = Prefetch::kPre;
};

Seconds sharded_time(const ShardedPass& pass);
// The same by running every layer on two streams.
Seconds run_sharded(const ShardedPass& pass);

// One stage's gradients (or, mirrored, its updated weights).
struct DataStream {
  Seconds communication;  // of all chunks
  Seconds to_host;        // copies that follow, on a stream of their own
  Seconds pass;           // the last pass of a chunk (the first)
  Seconds apart;          // between the ends of two chunks' last passes
  int chunks = 1;
  int pieces = 1;                 // of the last chunk
  double slowdown = 1, rate = 1;  // as in ShardedPass
};
struct DataExposed {
  Seconds communication;  // beyond the end of the computation
  Seconds to_host;        // beyond that
};
DataExposed exposed(const DataStream& d);

}  // namespace orrery
